"""Old names of flags, settings, configs and modules go on working. Each of them is tried."""

import dataclasses
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes.commands import command as run_command
from support.text.small_corpus import CORPUS, config

from pipelines.atomic_files import read_json, write_json
from pipelines.batches.batch_plan import BatchConfig
from pipelines.old_names import (
    COMMAND_FLAGS,
    CONFIGS,
    MODULES,
    SETTINGS,
    TABLES,
    current_arguments,
    current_flags,
    with_current_names,
)
from pipelines.preparation.prepare import prepare
from pipelines.text.sources import Pairs
from t2t_keras.experiment import Experiment, load_experiment
from t2t_keras.reproduction import Plan
from t2t_keras.training.training_config import TrainingConfig

VALUES = {
    "training.best": "bleu",
    "data.temperature": 3.0,
    "data.batches.multiple": 4,
    "data.encodings.number": 5,
}


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [(command, *names) for command, flags in COMMAND_FLAGS.items() for names in flags.items()],
)
def test_an_old_flag_is_replaced_and_named(command, old, new):
    assert current_flags(command, [f"--{old}=1", f"-{old}", "2", "x"]) == (
        [f"--{new}=1", f"-{new}", "2", "x"],
        [f"--{old} is now called --{new}", f"-{old} is now called -{new}"],
    )
    assert current_flags("t2t-score", [f"--{old}=1"]) == ([f"--{old}=1"], [])
    assert current_flags(command, ["--", f"--{old}=1"]) == (["--", f"--{old}=1"], [])
    name = command.removeprefix("t2t-")
    module = importlib.import_module("t2t_keras.serving.limits")
    assert name != "serve" or hasattr(module.Limits(), new)


@pytest.mark.parametrize(("old", "new"), TABLES.items())
def test_an_old_table_is_replaced_and_named(old, new, tmp_path):
    result = run_command("reproduce", old, "--rows=scaled", f"--output={tmp_path}")
    assert f"{old} is now called {new}" in result.stderr
    assert "did you mean 'scale'" in result.stderr


def test_values_of_flags_keep_their_names():
    words = ["--name", "line", "--source=line", "line"]
    assert current_flags("t2t-serve", words) == (words, [])


@pytest.mark.parametrize(("old", "new"), SETTINGS.items())
def test_an_old_setting_works_on_command_lines_in_configs_and_in_records(old, new):
    value = VALUES[old]
    given, notes = current_flags("t2t-train", [f"--config.{old}={value}"])
    assert given == [f"--config.{new}={value}"]
    assert notes == [f"--config.{old} is now called --config.{new}"]
    part, _, field = old.rpartition(".")
    group = Experiment()
    for name in part.split("."):
        group = getattr(group, name)
    setattr(group, field, value)
    current = new.rpartition(".")[2]
    assert getattr(group, current) == getattr(group, field) == value
    assert with_current_names({field: value, "x": 1}, part) == {current: value, "x": 1}


def test_old_names_of_fields_make_settings():
    assert BatchConfig(tokens=4096, multiple=2) == BatchConfig(tokens=4096, row_multiple=2)
    assert TrainingConfig(best="bleu").best_metric == "bleu"
    with pytest.raises(TypeError, match="bset"):
        TrainingConfig(bset="bleu")
    assert dataclasses.replace(TrainingConfig(), best="bleu").best_metric == "bleu"
    assert BatchConfig(**{**dataclasses.asdict(BatchConfig()), "multiple": 2}).row_multiple == 2


def test_settings_that_an_earlier_version_pickled_are_restored():
    state = {"tokens": 4096, "buckets": 10, "max_length": 100, "too_long": "drop", "multiple": 4}
    restored = BatchConfig.__new__(BatchConfig)
    restored.__setstate__(state)
    assert restored == BatchConfig(tokens=4096, max_length=100, row_multiple=4)
    assert pickle.loads(pickle.dumps(restored)) == restored


@pytest.mark.long
def test_training_settings_have_old_names_without_an_experiment():
    code = (
        "from t2t_keras.training.training_config import TrainingConfig\n"
        "config = TrainingConfig()\nconfig.best = 'bleu'\nassert config.best_metric == 'bleu'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_plan_takes_old_names_and_goes_on_in_the_old_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = Plan("arguments", overrides={"data.batches.multiple": 4})
    assert (plan.table, plan.overrides) == ("claims", {"data.batches.row_multiple": 4})
    assert plan.folder == Path("reproduced/claims")
    (tmp_path / "reproduced" / "arguments").mkdir(parents=True)
    assert plan.folder == Path("reproduced/arguments")
    (tmp_path / "reproduced" / "claims").mkdir()
    assert plan.folder == Path("reproduced/claims")


def test_recorded_arguments_of_a_stage_get_current_names():
    words = ["--config=arguments", "--config.data.batches.multiple=4", "--run=arguments", "x"]
    current = ["--config=claims", "--config.data.batches.row_multiple=4", "--run=arguments", "x"]
    assert current_arguments(words) == current


def test_a_flagfile_may_hold_old_flags(tmp_path, backwards_export):
    (tmp_path / "flags").write_text("--batch=0\n--line=5\n")
    result = run_command("serve", backwards_export, f"--flagfile={tmp_path}/flags")
    assert "`max_batch_rows` must be a whole number" in result.stderr


@pytest.mark.parametrize(("old", "new"), CONFIGS.items())
def test_an_old_config_is_found(old, new):
    assert load_experiment(old) == load_experiment(new)


@pytest.mark.long
def test_old_modules_are_the_new_ones():
    code = "import importlib, pipelines, t2t_keras\n" + "".join(
        f"assert importlib.import_module({old!r}) is importlib.import_module({new!r})\n"
        for old, new in MODULES.items()
    )
    code += "from pipelines import batch_plan\nfrom pipelines.markup import Document\n"
    code += "assert batch_plan.__name__ == 'pipelines.batches.batch_plan'\n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_that_never_existed_is_still_missing():
    with pytest.raises(ModuleNotFoundError, match=r"pipelines\.batch_plans"):
        importlib.import_module("pipelines.batch_plans")


def test_a_command_takes_an_old_flag_and_says_its_name(backwards_export):
    result = run_command("serve", backwards_export, "--batch=0")
    assert result.returncode == 2
    assert "--batch is now called --max_batch_rows" in result.stderr
    assert "`max_batch_rows` must be a whole number of at least 1" in result.stderr


def test_data_prepared_by_an_earlier_version_is_known_again(tmp_path):
    for _ in range(2):
        prepare(Pairs(CORPUS), tmp_path / "data", config(encodings=2))
        path = tmp_path / "data" / "preparation.json"
        record = read_json(path)
        encodings = record["encodings"]
        encodings["number"] = encodings.pop("per_sentence", encodings.get("number"))
        write_json(path, record)
    assert read_json(path)["encodings"]["number"] == 2
