"""t2t-train and what it prints. Training and resuming are tested in tests/runs."""

import fcntl

import pytest
from commands import TINY_RUN, command
from in_process import parsed_flags

from t2t_keras.runs import training
from t2t_keras.runs.export_folders import find_export


@pytest.mark.long
def test_without_data_the_toy_grammar_is_learned_evaluated_averaged_and_exported(exported_toy_run):
    result, folder = exported_toy_run
    assert result.returncode == 0, result.stderr
    assert "step 4/4  loss" in result.stderr and "held out:  loss" in result.stderr
    assert "mean of the checkpoints of steps 2, 4" in result.stdout
    assert "BLEU " in result.stdout and "tok:13a" in result.stdout
    assert "Next:\n  t2t-translate" in result.stdout
    names = {path.name for path in folder.iterdir()} - {".lock"}
    assert names == {
        *("config.json", "vocabulary", "checkpoints", "logs", "metrics.jsonl"),
        *("averaged.weights.h5", "averaged.json", "export"),
    }
    assert f"{folder / 'export' / '1'}: SavedModel with text in and text out" in result.stdout
    assert find_export(folder / "export") == folder / "export" / "1"


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
    arguments = ["--run=runs/x", "--noexport", "--data=d", "--dev_source=s", "--dev_target=t"]
    with parsed_flags("config_flag") as config_flag:
        arguments = config_flag.resolve_config(arguments, "base")
    monkeypatch.setattr("sys.argv", ["t2t-train", *arguments])
    with parsed_flags("train", *arguments) as module:
        module.main([])
    ((experiment, folder, tpu, export, command_line),) = calls
    assert (experiment.data.folder, experiment.data.dev_source) == ("d", "s")
    assert (folder, tpu, export) == ("runs/x", None, False)
    assert command_line == ["t2t-train", *arguments]
    captured = capsys.readouterr()
    assert captured.out.startswith(output) and bool(captured.out) == bool(output)
    assert captured.err.startswith(errors) and bool(captured.err) == bool(errors)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], "takes flags only"),
        (["--data=nowhere", "--run={0}/x"], "nowhere"),
        (["--run={0}"], "is not a run"),
        (["--config.training.steps=0", "--run={0}/x"], "`steps` must be a whole number"),
        (["--dev_source=x", "--run={0}/x"], "`dev_source`"),
        (["--dev=mine=a.en", "--run={0}/x"], "`dev` must be NAME=SOURCE,TARGET"),
        (["--config.data.toy_pairs=300", "--run={1}"], "was started with model."),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(toy_run, tmp_path, arguments, message):
    (tmp_path / "thesis.tex").write_text("years of work")
    arguments = [argument.format(tmp_path, toy_run[1]) for argument in arguments]
    result = command("train", *arguments)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_a_run_in_use_is_refused(toy_run):
    with (toy_run[1] / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = command("train", f"--run={toy_run[1]}", *TINY_RUN)
    assert result.returncode == 2
    assert "is in use by process" in result.stderr
