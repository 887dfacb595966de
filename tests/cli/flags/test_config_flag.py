import pytest
from support.processes.in_process import parsed_flags

from t2t_keras import experiment


@pytest.fixture
def module():
    with parsed_flags("flags.config_flag") as module:
        yield module


def test_the_last_config_is_loaded_once_and_changed(module, monkeypatch):
    loaded = []
    load, kept = experiment.load_experiment, loaded.append
    monkeypatch.setattr(experiment, "load_experiment", lambda path: kept(path) or load(path))
    module.load_config(["--config.model.d_ff=8", "--config=base", "--config=table3:big"], "gnmt")
    assert loaded == ["table3:big"] and module.CONFIG.value.model.d_ff == 8
    found = module.LOADED
    assert (found.name, found.overrides) == ("table3", {"model.d_ff": 8})


def test_without_a_config_the_default_is_loaded_or_none(module):
    module.load_config([])
    assert module.CONFIG.value is None
    module.load_config([], "base")
    assert module.LOADED.name == "base"


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--config.model.dff=3", r"config.model has no setting 'dff' \(did you mean 'd_ff'\?\)"),
        ("--config.modle.d_ff=3", r"config has no setting 'modle' \(did you mean 'model'\?\)"),
        ("--config.training.steps.x=3", "config.training.steps is a single setting"),
        ("--config.model=3", "--config.model is a group of settings"),
        ("--config.model.d_ff", "--config.model.d_ff needs a value: --config.model.d_ff=VALUE"),
        ("--config.imports=x.py", "--config.imports does not load the files. Give --imports=FILE"),
    ],
)
def test_a_misspelled_setting_is_answered_with_the_nearest_one(module, flag, message):
    with pytest.raises(ValueError, match=message):
        module.load_config([flag], "base")
    with pytest.raises(ValueError, match=r"--config.model.d_ff changes a config: name"):
        module.load_config(["--config.model.d_ff=3"])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (int, {"3": 3, "0x10": 16}),
        (int | None, {"3": 3, "None": None}),
        (float, {"1e-3": 0.001}),
        (bool, {"False": False, "true": True}),
        (str, {"None": "None", "a,b": "a,b"}),
        (tuple[int, ...], {"1,2": (1, 2), "(3,)": (3,), "4": (4,), "()": ()}),
        (tuple[str, ...], {"('a', 'b')": ("a", "b"), "a=b.en,c.de": ("a=b.en,c.de",)}),
        (object, {"{'a': 1}": {"a": 1}, "text": "text"}),
    ],
)
def test_a_value_has_the_type_of_its_setting(module, kind, values):
    assert {text: module.value_of(text, kind) for text in values} == values


@pytest.mark.parametrize(("text", "kind"), [("wide", int), ("none", float), ("maybe", bool)])
def test_a_value_of_a_different_type_is_refused(module, text, kind):
    with pytest.raises(ValueError, match=text):
        module.value_of(text, kind)
