"""t2t-train and t2t-average as their users run them."""

import fcntl
import os

import pytest
from commands import TINY_RUN, command

from t2t_keras.runs.exports import export_in


def test_train_without_data_learns_the_toy_grammar(toy_run):
    result, folder = toy_run
    assert result.returncode == 0, result.stderr
    assert "step 4/4  loss" in result.stderr and "held out:  loss" in result.stderr
    assert "the mean of the checkpoints of steps 2, 4" in result.stdout
    assert "BLEU " in result.stdout and "tok:13a" in result.stdout
    assert "Next:\n  t2t-translate" in result.stdout
    names = {path.name for path in folder.iterdir()} - {".lock"}
    assert names == {
        *("config.json", "vocabulary", "checkpoints", "logs", "metrics.jsonl"),
        *("averaged.weights.h5", "export"),
    }
    assert f"{folder / 'export' / '1'}: a SavedModel, text in and text out" in result.stdout
    assert export_in(folder / "export") == folder / "export" / "1"


def test_train_goes_on_and_refuses_another_model(toy_run):
    _, folder = toy_run
    other = command("train", f"--run={folder}", "--config.model.d_ff=32", *TINY_RUN[:2])
    assert other.returncode == 2
    assert "was begun with model.d_model=16, and not" in other.stderr or "d_ff" in other.stderr
    more = ["--config.training.steps=6", *TINY_RUN, "--noexport"]
    longer = command("train", f"--run={folder}", *more)
    assert longer.returncode == 0, longer.stderr
    assert "step 6/6" in longer.stderr and "step 2/" not in longer.stderr
    again = command("train", f"--run={folder}", *more)
    assert "was trained to its end before, step 6" in again.stdout, again.stderr
    os.utime(folder / "averaged.weights.h5", (0, 0))  # as if killed before it averaged
    mended = command("train", f"--run={folder}", *more)
    assert "the mean of the checkpoints of steps" in mended.stdout, mended.stderr


def test_average_takes_the_last_checkpoints(toy_run):
    _, folder = toy_run
    result = command("average", folder, "--last=2")
    assert result.returncode == 0, result.stderr
    assert "averaged.weights.h5: steps " in result.stdout
    too_many = command("average", folder, "--last=50")
    assert too_many.returncode == 2 and "Average fewer" in too_many.stderr


def test_train_from_prepared_data_with_a_test_set(toy_data, toy_corpus, tmp_path):
    result = command(
        *("train", "--noexport", "--config=base", f"--data={toy_data[1]}"),
        f"--run={tmp_path / 'run'}",
        *(f"--dev_source={toy_corpus}/train.en", f"--dev_target={toy_corpus}/train.de"),
        *("--config.data.dev_pairs=20", "--config.training.steps=2", "--config.model.d_model=16"),
        *("--config.model.d_ff=16", "--config.model.num_layers=1"),
        *("--config.data.batches.max_length=64", "--config.data.batches.tokens=512"),
    )
    assert result.returncode == 0, result.stderr
    assert "held out:  loss" in result.stderr


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("train", ["x"], "takes flags only"),
        ("train", ["--data=nowhere", "--run={0}/x"], "nowhere holds no finished data"),
        ("train", ["--run={0}"], "is no run, and has other things in it"),
        ("train", ["--config.training.steps=0", "--run={0}/x"], "`steps` must be a whole number"),
        ("train", ["--dev_source=x", "--run={0}/x"], "`dev_source` and `dev_target` go together"),
        ("average", [], "takes one run's folder"),
        ("average", ["{0}"], "is no run: it has no config.json"),
    ],
)
def test_training_names_what_is_wrong(tmp_path, name, arguments, message):
    (tmp_path / "thesis.tex").write_text("years of work")
    result = command(name, *(argument.format(tmp_path) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_a_run_in_use_is_refused(toy_run):
    with (toy_run[1] / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = command("train", f"--run={toy_run[1]}", *TINY_RUN)
    assert result.returncode == 2
    assert "is in use by process" in result.stderr
