"""t2t-train and what it prints. Training and resuming are tested in tests/runs."""

import fcntl
import json
import re
import shlex
import shutil

import pytest
from absl import flags
from support.processes.commands import TINY_RUN, command
from support.processes.in_process import ended, parsed_flags
from support.runs.untrained import tiny_experiment, toy_tokenizer

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import differences
from t2t_keras.runs import Run
from t2t_keras.runs.training import train as training
from t2t_keras.runs.training.run_start import begin
from t2t_keras.translating.export_folders import find_export

STEP = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  step 4/4  epoch \d+\.\d\d  loss \d"


@pytest.mark.long
def test_without_data_the_toy_grammar_is_learned_evaluated_averaged_and_exported(exported_toy_run):
    result, folder = exported_toy_run
    assert result.returncode == 0, result.stderr
    assert re.search(STEP, result.stderr, re.MULTILINE), result.stderr
    assert "  held out:  loss" in result.stderr and "  new best loss\n" in result.stderr
    assert "\x1b" not in result.stderr, "colors are for terminals"
    assert f"tensorboard --logdir={folder}/logs, then open http" in result.stderr
    (hardware,) = json.loads((folder / "config.json").read_text())["hardware"]
    assert hardware["from_step"] == 0 and f" cores of {hardware['processor']}" in result.stderr
    assert "mean of the checkpoints of steps 2, 4" in result.stdout
    assert "BLEU " in result.stdout and "tok:13a" in result.stdout
    assert "Next:\n  t2t-translate" in result.stdout
    names = {path.name for path in folder.iterdir() if path.suffix != ".lock"} - {".lock"}
    assert names == {
        *("config.json", "vocabulary", "checkpoints", "logs", "metrics.jsonl", "training.jsonl"),
        *("averaged.weights.h5", "averaged.json", "export", "export_litert"),
    }
    assert f"{folder / 'export' / '1'}: SavedModel with text in and text out" in result.stdout
    assert find_export(folder / "export") == folder / "export" / "1"
    assert f"{folder / 'export_litert' / '1'}: model for LiteRT" in result.stdout
    assert "fingerprint" not in result.stderr, "TensorFlow does not tell what it writes"


@pytest.mark.filterwarnings("ignore:the load_module:DeprecationWarning")  # ml_collections calls it
@pytest.mark.parametrize(
    ("stopped", "finished", "is_chief", "output", "errors"),
    [
        (None, True, True, "Next:", ""),
        (None, True, False, "", ""),
        ("no better loss", True, True, "Next:", "no better loss: training ends at step 1,234\n"),
        ("SIGTERM", False, True, "", "SIGTERM: step 1,234 is saved. Run the same command to"),
    ],
)
def test_the_end_of_training_is_reported(
    monkeypatch, capsys, stopped, finished, is_chief, output, errors
):
    calls = []

    def train(*arguments, **options):
        calls.append(arguments)
        return training.Training(None, 1234, stopped, finished, is_chief)

    monkeypatch.setattr("t2t_keras.runs.train", train)
    arguments = ["--run=runs/my x", "--noexport", "--data=d", "--dev_source=s", "--dev_target=t"]
    with parsed_flags("flags.config_flag") as config_flag:
        arguments = config_flag.resolve_config(arguments, "base")
    monkeypatch.setattr("sys.argv", ["t2t-train", *arguments])
    with parsed_flags("train", *arguments) as module:
        module.main([])
    ((experiment, folder, tpu, export, command_line),) = calls
    assert (experiment.data.folder, experiment.data.dev_source) == ("d", "s")
    assert (folder, tpu, export) == ("runs/my x", None, False)
    assert command_line == ["t2t-train", *arguments]
    captured = capsys.readouterr()
    assert captured.out.startswith(output) and bool(captured.out) == bool(output)
    assert captured.err.startswith(errors) and bool(captured.err) == bool(errors)
    commands = [line.strip().split("   ")[0] for line in captured.out.splitlines()[1:]]
    for line in filter(lambda line: "--help" not in line, commands):
        assert shlex.split(line)[1] in ("runs/my x", "--logdir=runs/my x/logs"), line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], "takes flags only"),
        (["--data=nowhere", "--run={0}/x"], "nowhere"),
        (["--run={0}"], "is not a run"),
        (["--config.training.steps=0", "--run={0}/x"], "`training.steps` must be a whole number"),
        (["--dev_source=x", "--run={0}/x"], "need --data=FOLDER, which t2t-prepare writes"),
        (["--data={0}"], "--run=FOLDER is required with --data"),
        (["--dev=mine=a.en", "--run={0}/x", "--data={0}"], "`dev` must be NAME=SOURCE,TARGET"),
        ([*TINY_RUN, "--freeze=encodr", "--run={0}/new/x"], "`training.freeze` must be among"),
        (
            ["--config=quickstart", "--config.data.toy_pairs=300", "--run={1}"],
            "was started with model.",
        ),
        (
            ["--config.training.best_metric=mine", "--run={1}"],
            "Received: training.best_metric='mine'",
        ),
    ],
)
def test_mistakes_end_with_one_message_and_change_nothing(toy_run, tmp_path, arguments, message):
    (tmp_path / "thesis.tex").write_text("years of work")
    settings = (toy_run[1] / "config.json").read_bytes()
    arguments = [argument.format(tmp_path, toy_run[1]) for argument in arguments]
    result = ended("train", *arguments)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr and "names this place" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert (toy_run[1] / "config.json").read_bytes() == settings


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that has only begun, with settings that no config has."""
    run = Run(tmp_path_factory.mktemp("begun") / "run")
    vocabulary = run.folder.parent / "vocabulary"
    toy_tokenizer(vocabulary)
    experiment = tiny_experiment(folder="data/mine", dev_source="dev.en", dev_target="dev.de")
    experiment.training.schedule, experiment.training.learning_rate = "constant", 1e-4
    experiment.training.freeze, experiment.search = ("encoder",), SearchConfig(beam=6)
    begin(run, experiment, vocabulary, ["t2t-train"], init="runs/general")
    return run


@pytest.fixture
def train_call(monkeypatch):
    """A function that calls t2t-train and returns the experiment and options given to `train`."""
    calls = []

    def train(experiment, *arguments, **options):
        calls.append((experiment, options))
        return training.Training(None, 1234, None, True, is_chief=False)

    def call(*arguments):
        with parsed_flags("train", *(a for a in arguments if "--config" not in a)) as module:
            default = module.default_config(flags.FLAGS)
        with parsed_flags("flags.config_flag") as config_flag:
            arguments = config_flag.resolve_config(arguments, default)
        monkeypatch.setattr("sys.argv", ["t2t-train", *arguments])
        with parsed_flags("train", *arguments) as module:
            module.main([])
        return calls.pop()

    monkeypatch.setattr("t2t_keras.runs.train", train)
    return call


@pytest.mark.filterwarnings("ignore:the load_module:DeprecationWarning")  # ml_collections calls it
def test_a_run_is_resumed_with_its_own_settings_and_only_given_ones_change(begun, train_call):
    run, known = f"--run={begun.folder}", begun.experiment()
    experiment, options = train_call(run)
    assert experiment == known and not options["init"] and not options["given"]
    experiment, _ = train_call(run, "--config.training.steps=9", "--config.search.banned=(3, 5)")
    assert differences(known, experiment) == {
        "training.steps": (1700, 9),
        "search.banned": ((), (3, 5)),
    }
    experiment, _ = train_call(run, "--dev=a=a.en,a.de", "--data=data/moved")
    assert differences(known, experiment) == {
        "data.folder": ("data/mine", "data/moved"),
        "data.dev_source": ("dev.en", ""),
        "data.dev_target": ("dev.de", ""),
        "data.dev": ((), ("a=a.en,a.de",)),
    }


@pytest.mark.filterwarnings("ignore:the load_module:DeprecationWarning")
def test_with_a_config_a_run_is_resumed_as_it_was_started(begun, train_call, tmp_path):
    experiment, options = train_call(f"--run={begun.folder}", "--config=finetune")
    assert experiment.training.freeze == () and options["init"] == "runs/general"
    for arguments, steps in ((["--init=x"], 2000), ([], 1700)):
        experiment, options = train_call(f"--run={tmp_path}/new", *arguments)
        assert experiment.training.steps == steps
    _, options = train_call(f"--run={tmp_path}/new", "--init=x", "--config.search.beam=4")
    assert options["init"] == "x" and options["given"] == ("search.beam",)
    with pytest.raises(ValueError, match=r"--config\.model\.d_ff: the model's settings are those"):
        train_call(f"--run={begun.folder}", "--config=finetune", "--config.model.d_ff=8")


@pytest.mark.filterwarnings("ignore:the load_module:DeprecationWarning")
def test_settings_of_a_run_with_init_do_not_silently_start_from_random_weights(
    begun, train_call, tmp_path, caplog
):
    arguments = f"--config=settings_of:{begun.folder}", f"--run={tmp_path}/new"
    train_call(*arguments)
    assert "starts from random weights. Give --init=runs/general to start" in caplog.text
    caplog.clear()
    train_call(*arguments, "--init=runs/general")
    train_call(f"--run={begun.folder}")
    assert not caplog.text


def test_a_damaged_run_is_not_resumed_with_the_settings_of_a_config(begun, tmp_path):
    run = shutil.copytree(begun.folder, tmp_path / "run")
    (run / "config.json").write_text("{")
    result = command("train", f"--run={run}")
    assert result.returncode == 2
    assert "config.json is damaged" in result.stderr.splitlines()[-1]


def test_a_run_in_use_is_refused(toy_run):
    with (toy_run[1] / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = command("train", f"--run={toy_run[1]}", *TINY_RUN)
    assert result.returncode == 2
    assert "is in use by process" in result.stderr
