import sys

import keras
import pytest

from pipelines.registry import REGISTRIES
from t2t_keras.experiment import Experiment, load_experiment
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS
from t2t_keras.plugins import LOADED, load_plugin
from t2t_keras.transformer_config import TransformerConfig

POSITIONS = """
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS

POSITIONAL_ENCODINGS["p"] = POSITIONAL_ENCODINGS["none"]._replace()
"""
MODEL = """
import dataclasses
from t2t_keras.models import MODELS
from t2t_keras.transformer import Transformer
from t2t_keras.transformer_config import TransformerConfig

@dataclasses.dataclass
class MyConfig(TransformerConfig):
    gate: float = 1.0

class MyModel(Transformer):
    config_class = MyConfig

MODELS["mine"] = MyModel
"""


@pytest.fixture(autouse=True)
def own_tables():
    """Removes the entries of each test."""
    known = dict(LOADED)
    yield
    LOADED.clear()
    LOADED.update(known)
    for table in REGISTRIES.values():
        for name in table.own():
            del table[name]


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_the_same_contents_are_executed_once_whatever_their_path(write):
    first, copy = write("a.py", POSITIONS), write("copies/b.py", POSITIONS)
    module = load_plugin(first)
    assert load_plugin(str(copy)) is module
    assert sys.modules[module.__name__] is module
    assert POSITIONAL_ENCODINGS.own() == ["p"]
    assert [each.path for each in POSITIONAL_ENCODINGS.plugins(["p", "none"])] == [first]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (POSITIONS.replace('"p"', '"learned"'), "has an entry 'learned' of this package"),
        (f"{POSITIONS}POSITIONAL_ENCODINGS |= {{'none': 1}}", "has an entry 'none' of this"),
        (f"{POSITIONS}\n1 / 0", "line 6: the file does not run: ZeroDivisionError"),
        ("def f(:", "faulty.py, line 1: the file does not run: SyntaxError"),
        ("import nothing_like_it", "may import installed packages, but no file beside it"),
        (
            "from t2t_keras.plugins import load_plugin\nload_plugin('b.py')",
            "a plug-in file cannot load another one",
        ),
    ],
)
def test_a_faulty_file_is_one_clear_error_and_may_be_corrected(write, text, message):
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            load_plugin(write("faulty.py", text))
    load_plugin(write("faulty.py", POSITIONS))


def test_a_file_replaces_its_own_entries_but_none_of_another_one(write):
    first = write("a.py", POSITIONS)
    module = load_plugin(first)
    with pytest.raises(ValueError, match=rf"has an entry 'p' of {first} \(.*processes"):
        load_plugin(write("b.py", f"{POSITIONS}# changed"))
    copy = first.parent / "run" / "a.py"
    copy.parent.mkdir()
    copy.write_text(f"{POSITIONS}# changed")
    with pytest.raises(ValueError, match=f"{first} and {copy} are different versions"):
        load_plugin(copy)
    assert load_plugin(write("a.py", f"{POSITIONS}# edited")) is not module
    assert load_plugin(write("a.py", POSITIONS)) is not module, "edited back"


def test_what_is_no_plug_in_file_is_refused(write, tmp_path):
    (tmp_path / "folder.py").mkdir()
    for name, message in {
        "folder.py": "there is no plug-in file",
        "none.py": "there is no plug-in file",
        "a.txt": "must be a Python file ending in .py",
    }.items():
        with pytest.raises(ValueError, match=message):
            load_plugin(tmp_path / name)


def test_a_config_names_files_relative_to_itself(write, monkeypatch, tmp_path):
    write("inner/mine.py", POSITIONS)
    write("inner/model.py", MODEL)
    config = write(
        "inner/config.py",
        "from t2t_keras.experiment import Experiment\n"
        "from t2t_keras.plugins import load_plugin\n"
        "def get_config():\n"
        "    model = load_plugin('model.py').MyConfig(gate=2.0)\n"
        "    return Experiment(model=model, imports=('mine.py',))\n",
    )
    monkeypatch.chdir(tmp_path)
    experiment = load_experiment(str(config.relative_to(tmp_path)))
    assert experiment.model.gate == 2.0
    names = [str(tmp_path / "inner" / name) for name in ("mine.py", "model.py")]
    assert list(experiment.imports) == names[::-1], "in the order of loading"
    made = Experiment(imports=("inner/mine.py",), model=TransformerConfig(positions="p"))
    assert list(made.imports) == names[:1]


def test_each_variant_of_a_config_has_its_own_files(write):
    write("b.py", POSITIONS)
    config = write(
        "config.py",
        "from t2t_keras.experiment import Experiment\n"
        "def get_config(variant=''):\n"
        "    if variant == 'b':\n"
        "        return Experiment(imports=('b.py',))\n"
        "    experiment = Experiment()\n"
        "    if variant == 'assigned':\n"
        "        experiment.imports = ('b.py',)\n"
        "        experiment.model.positions = 'p'\n"
        "    return experiment\n",
    )
    assert load_experiment(str(config)).imports == ()
    for variant in ("b", "assigned"):
        experiment = load_experiment(f"{config}:{variant}")
        assert experiment.imports == (str(config.with_name("b.py")),)
    experiment.validate()


def test_a_model_is_registered_with_keras_so_that_its_files_are_loaded(write):
    load_plugin(write("model.py", MODEL))
    assert keras.saving.get_registered_object("t2t_keras>MyModel")


def test_a_config_adds_no_entries_itself(write):
    with pytest.raises(
        ValueError, match=r"adds 'p' to POSITIONAL_ENCODINGS.*load_plugin\(\"mine.py"
    ):
        load_experiment(str(write("config.py", f"{POSITIONS}\ndef get_config(): ...")))
    assert "p" not in POSITIONAL_ENCODINGS
    with pytest.raises(ValueError, match="a tuple of paths"):
        Experiment(imports="mine.py")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    config_class = MyConfig", "    pass", "different classes of settings"),
        ("MyModel", "Transformer", "'transformer' and 'mine' need different names"),
        ("@dataclasses.dataclass", "", "decorator @dataclasses.dataclass"),
        ("= MyModel", "= lambda config: None", "must be a class derived from SequenceModel"),
        ("MyConfig(TransformerConfig)", "MyConfig", "TransformerConfig, RivalConfig or"),
    ],
)
def test_a_model_must_be_told_from_others_by_its_name_and_settings(write, old, new, message):
    text = MODEL.replace(old, new).replace("(Transformer)", "(MODELS['transformer'])")
    with pytest.raises(ValueError, match=message):
        load_plugin(write("mine.py", text))
