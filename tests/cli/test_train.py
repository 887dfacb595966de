"""t2t-train and what it prints. Training and resuming are tested in tests/runs."""

import json
import os
import re
import shlex
import shutil

import pytest
from support.processes.commands import TINY_RUN
from support.processes.in_process import ended, refused
from support.runs.untrained import learned_tokenizer, tiny_experiment

from pipelines.atomic_files import read_json, write_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import differences
from t2t_keras.runs import Run
from t2t_keras.runs.training import train as training
from t2t_keras.runs.training.run_start import begin
from t2t_keras.translating.exports import newest_in

STEP = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  step 4/4  epoch \d+\.\d\d  loss \d"


@pytest.mark.long
def test_without_data_the_toy_grammar_is_learned_evaluated_averaged_and_exported(exported_toy_run):
    result, folder = exported_toy_run
    assert result.returncode == 0, result.stderr
    assert re.search(STEP, result.stderr, re.MULTILINE), result.stderr
    (hardware,) = json.loads((folder / "config.json").read_text())["hardware"]
    assert hardware["from_step"] == 0
    for part in (
        *("  held out:  loss", "  new best loss\n", f" cores of {hardware['processor']}"),
        f"tensorboard --logdir={folder}/logs, then open http",
    ):
        assert part in result.stderr
    assert "\x1b" not in result.stderr, "colors are for terminals"
    assert "fingerprint" not in result.stderr, "TensorFlow does not tell what it writes"
    for part in (
        *("mean of the checkpoints of steps 2, 4", "BLEU ", "tok:13a", "Next:\n  t2t-translate"),
        *("t2t-serve", "t2t-prepare"),
        f"{folder / 'export' / '1'}: SavedModel with text in and text out",
        f"{folder / 'export_litert' / '1'}: model for LiteRT",
    ):
        assert part in result.stdout
    names = {path.name for path in folder.iterdir() if path.suffix != ".lock"} - {".lock"}
    assert names == {
        *("config.json", "vocabulary", "checkpoints", "logs", "metrics.jsonl", "training.jsonl"),
        *("averaged.npz", "export", "export_litert"),
    }
    assert newest_in(folder / "export") == folder / "export" / "1"


class Trained:
    """Calls t2t-train with an invented result; keeps the arguments that it gives to `train`."""

    def __init__(self):
        self.outcome = training.Training(None, 1234, None, True, is_chief=True)

    def train(self, experiment, *arguments, **options):
        self.experiment, self.arguments, self.options = experiment, arguments, options
        return self.outcome

    def call(self, *arguments):
        result = ended("train", *arguments)
        assert result.returncode == 0, result.stderr
        return result


@pytest.fixture
def trained(monkeypatch):
    trained = Trained()
    monkeypatch.setattr("t2t_keras.runs.train", trained.train)
    return trained


@pytest.mark.parametrize(
    ("stopped", "finished", "is_chief", "output", "errors"),
    [
        (None, True, True, "Next:", ""),
        (None, True, False, "", ""),
        ("no better loss", True, True, "Next:", "no better loss: training ends at step 1,234\n"),
        ("SIGTERM", False, True, "", "SIGTERM: step 1,234 is saved. Run the same command to"),
    ],
)
def test_the_end_of_training_is_reported(trained, stopped, finished, is_chief, output, errors):
    trained.outcome = training.Training(None, 1234, stopped, finished, is_chief)
    flags = ["--run=runs/my x", "--noexport", "--data=d", "--dev_source=s", "--dev_target=t"]
    result = trained.call("--config=base", *flags)
    data = trained.experiment.data
    assert (data.folder, data.dev_source, data.dev_target) == ("d", "s", "t")
    folder, tpu, export, command_line = trained.arguments
    assert (folder, tpu, export, command_line[2:]) == ("runs/my x", None, False, flags)
    assert result.stdout.startswith(output) and bool(result.stdout) == bool(output)
    assert result.stderr.startswith(errors) and bool(result.stderr) == bool(errors)
    assert "t2t-serve" not in result.stdout, "there is no export"
    assert "t2t-prepare" not in result.stdout, "there is data"
    for line in result.stdout.splitlines()[1:]:
        command = line.strip().split("   ")[0]
        assert shlex.split(command)[1] in ("runs/my x", "--logdir=runs/my x/logs"), line


MISTAKES = {
    "x": "takes flags only",
    "--data=nowhere --run={0}/x": "nowhere",
    "--run={0}": "is not a run",
    "--dev_source=x --run={0}/x": "need --data=FOLDER, which t2t-prepare writes",
    "--data={0}": "--run=FOLDER is required with --data",
    "--dev=mine=a.en --run={0}/x --data={0}": "`dev` must be NAME=SOURCE,TARGET",
    f"{' '.join(TINY_RUN)} --freeze=encodr --run={{0}}/new/x": "`training.freeze` must be among",
    "--config=quickstart --config.data.toy_pairs=300 --run={1}": "was started with model.",
    "--config.training.best_metric=mine --run={1}": "Received: training.best_metric='mine'",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named_and_changes_nothing(toy_run, tmp_path, line, message):
    (tmp_path / "thesis.tex").write_text("years of work")
    settings = (toy_run[1] / "config.json").read_bytes()
    assert message in refused("train", line, tmp_path, toy_run[1])
    assert os.listdir(tmp_path) == ["thesis.tex"]
    assert (toy_run[1] / "config.json").read_bytes() == settings


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that has only begun, with settings that no config has."""
    run = Run(tmp_path_factory.mktemp("begun") / "run")
    experiment = tiny_experiment(folder="data/mine", dev_source="dev.en", dev_target="dev.de")
    experiment.training.schedule, experiment.training.learning_rate = "constant", 1e-4
    experiment.training.freeze, experiment.search = ("encoder",), SearchConfig(beam=6)
    begin(run, experiment, learned_tokenizer(), ["t2t-train"])
    write_json(run.config_file, read_json(run.config_file) | {"init": "runs/general"})
    return run


def test_a_run_is_resumed_with_its_own_settings_and_only_given_ones_change(begun, trained):
    run, known = f"--run={begun.folder}", begun.experiment()
    trained.call(run)
    assert trained.experiment == known
    assert not trained.options["init"] and not trained.options["given"]
    trained.call(run, "--config.training.steps=9", "--config.search.banned=(3, 5)")
    assert differences(known, trained.experiment) == {
        "training.steps": (1700, 9),
        "search.banned": ((), (3, 5)),
    }
    trained.call(run, "--dev=a=a.en,a.de", "--data=data/moved")
    assert differences(known, trained.experiment) == {
        "data.folder": ("data/mine", "data/moved"),
        "data.dev_source": ("dev.en", ""),
        "data.dev_target": ("dev.de", ""),
        "data.dev": ((), ("a=a.en,a.de",)),
    }


def test_with_a_config_a_run_is_resumed_as_it_was_started(begun, trained, tmp_path):
    trained.call(f"--run={begun.folder}", "--config=finetune")
    assert trained.experiment.training.freeze == ()
    assert trained.options["init"] == "runs/general"
    for arguments, steps in ((["--init=x"], 2000), ([], 1700)):
        trained.call(f"--run={tmp_path}/new", *arguments)
        assert trained.experiment.training.steps == steps
    trained.call(f"--run={tmp_path}/new", "--init=x", "--config.model.dropout=0.3")
    assert trained.options["init"] == "x" and trained.options["given"] == ("model.dropout",)
    message = refused("train", "--run={0} --config=finetune --config.model.d_ff=8", begun.folder)
    assert "--config.model.d_ff: the model's settings come from --init" in message


def test_a_damaged_run_is_not_resumed_with_the_settings_of_a_config(begun, tmp_path):
    run = shutil.copytree(begun.folder, tmp_path / "run")
    (run / "config.json").write_text("{")
    assert "config.json is damaged" in refused("train", "--run={0}", run)
