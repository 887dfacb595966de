import dataclasses
import json

import pytest

from pipelines.atomic_files import read_json, write_json
from t2t_keras.config_files import shipped_configs
from t2t_keras.experiment import Experiment, load_experiment
from t2t_keras.losses import LOSSES
from t2t_keras.models import MODELS
from t2t_keras.runs.settings_file import check_same_model, data_facts, read_settings, write_settings
from t2t_keras.schedules import SCHEDULES
from t2t_keras.training.optimizers import OPTIMIZERS
from t2t_keras.transformer import Transformer
from t2t_keras.transformer_config import TransformerConfig


def test_every_shipped_config_is_read_as_it_was_written(tmp_path):
    for name in {*shipped_configs()} - {"settings_of"}:
        experiment = load_experiment(name)
        write_settings(tmp_path / "config.json", experiment)
        assert read_settings(tmp_path / "config.json").flat() == experiment.flat(), name


def test_the_settings_of_a_run_are_a_config(tmp_path):
    experiment = load_experiment("parsing")
    experiment.search.banned, experiment.training.freeze = (3,), ("encoder",)
    write_settings(tmp_path / "config.json", experiment, ("t2t-train", "--run=x"))
    assert load_experiment(f"settings_of:{tmp_path}") == experiment
    settings = read_json(tmp_path / "config.json")
    assert settings["command"] == ["t2t-train", "--run=x"]
    assert {"t2t-keras", "keras", "tensorflow"} < set(settings["versions"])
    with pytest.raises(ValueError, match=r"`variant` must be the folder of a run"):
        load_experiment("settings_of")
    with pytest.raises(ValueError, match=r"nowhere is not a run"):
        load_experiment("settings_of:nowhere")


def test_settings_are_read_without_building_the_parts_of_a_training(monkeypatch, tmp_path):
    experiment = load_experiment("multi30k")
    for name, table in {"loss": LOSSES, "optimizer": OPTIMIZERS, "schedule": SCHEDULES}.items():
        monkeypatch.setitem(table, "own", None)  # cannot be called
        setattr(experiment.training, name, "own")
    write_settings(tmp_path / "config.json", experiment)
    assert read_settings(tmp_path / "config.json").training == experiment.training


def test_the_corpora_are_recorded(toy_corpus, toy_data, tmp_path):
    prepared = read_json(toy_data[1] / "report.json")
    facts = {
        "folder": str(toy_data[1]),
        "pairs": prepared["counts"]["kept"],
        "words": [prepared["sides"][side]["words"] for side in ("source", "target")],
        "files": [f"{toy_corpus}/train.en", f"{toy_corpus}/train.de"],
    }
    assert data_facts(str(toy_data[1]))["corpora"] == [facts] and facts["pairs"] > 1000
    (tmp_path / "store.json").write_text('{"shard-000000": 7}')
    unknown = {"folder": str(tmp_path), "pairs": 7, "words": None, "files": []}
    assert data_facts(f"{toy_data[1]}:1,{tmp_path}:4")["corpora"] == [facts, unknown]


def test_only_settings_that_the_checkpoints_depend_on_are_compared(tmp_path, monkeypatch):
    @dataclasses.dataclass
    class Config(TransformerConfig):
        widths: list = dataclasses.field(default_factory=lambda: [1, [2, 3]])

    class Listed(Transformer):
        config_class = Config

    monkeypatch.setitem(MODELS, "listed", Listed)
    path, experiment = tmp_path / "config.json", Experiment(model=Config())
    experiment.training.freeze = ("encoder", "decoder")
    write_settings(path, experiment)
    experiment.training.steps, experiment.search.alpha = 3, 1.0
    experiment.data.folder, experiment.training.freeze = "x", ("decoder", "encoder")
    check_same_model(path, experiment)
    for name, value in {"seed": 2, "freeze": ("encoder",), "optimizer": "lion"}.items():
        training = dataclasses.replace(experiment.training, **{name: value})
        changed = dataclasses.replace(experiment, training=training)
        with pytest.raises(ValueError, match=rf"training.{name}=.*Received: .*Keep the setting"):
            check_same_model(path, changed)
    changed = dataclasses.replace(experiment, model=Config(widths=[1, [2]]))
    with pytest.raises(ValueError, match=r"started with model.widths=\(1, \(2, 3\)\)"):
        check_same_model(path, changed)


def test_a_changed_setting_is_noticed_and_accepted_without_the_checksum(tmp_path):
    path = tmp_path / "config.json"
    write_settings(path, load_experiment("base"))
    path.write_text(path.read_text().replace('"beam": 4', '"beam": 5'))
    with pytest.raises(ValueError, match=r"do not match its checksum.*edited it on purpose"):
        read_settings(path)
    settings = json.loads(path.read_text())
    del settings["checksum"]
    path.write_text(json.dumps(settings))
    assert read_settings(path).search.beam == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda settings: settings.clear(), "'data' is missing"),
        (lambda settings: settings["model"].update(lambda_layer="os.system"), "lambda_layer"),
        (lambda settings: settings["model"].update(num_layers=10**9), "from 1 to 1,000"),
        (lambda settings: settings["data"].update(vocabulary=[1]), "must be a mapping"),
    ],
)
def test_settings_that_are_none_are_refused(tmp_path, change, message):
    path = tmp_path / "config.json"
    write_settings(path, load_experiment("base"))
    contents = json.loads(path.read_text())
    change(contents["experiment"])
    del contents["checksum"]
    path.write_text(json.dumps(contents))
    with pytest.raises(ValueError, match=rf"config.json does not describe a run.*{message}"):
        read_settings(path)


def test_a_damaged_file_is_named(tmp_path):
    for text in ('{"experiment": {', "[]", "[" * 100_000, '{"experiment": 1}', "9" * 5000):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match=r"config\.json .*Restore it"):
            read_settings(tmp_path / "config.json")


def test_the_languages_are_those_of_all_corpora(tmp_path):
    def recorded(data):
        return data_facts(data)["languages"]

    for name, languages in {"a": ["en", "de"], "b": ["en", "de"], "c": ["en", "fr"]}.items():
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "preparation.json", {"languages": languages})
    assert recorded("") == ("en", "de")  # the toy grammar's
    assert recorded(f"{tmp_path}/c") == ["en", "fr"]
    assert recorded(f"{tmp_path}/a,{tmp_path}/b") == ["en", "de"]
    assert recorded(f"{tmp_path}/a,{tmp_path}/c") is None
