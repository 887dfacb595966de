import json
import shutil

import numpy as np
import pytest

from pipelines.atomic_files import locked_folder
from t2t_keras.runs import Run


def weights_in_checkpoint(run, step):
    state, _ = run.checkpoints.load(step)
    arrays = [state[name] for name in sorted(state)]
    return [array for array in arrays if array.dtype == "float32"]  # without random seeds


def test_weights_are_named_by_step_or_as_newest_best_or_averaged(copied):
    files = {name: copied.checkpoints.path(6) for name in ("newest", "6")}
    files |= {"best": copied.checkpoints.path(4), 2: copied.checkpoints.path(2)}
    files |= {"averaged": copied.averaged_weights, None: copied.averaged_weights}
    assert {name: copied.weights_file(name) for name in files} == files
    message = r"no weights '3'. It has: 2, 4, 6, newest, best, averaged"
    with pytest.raises(ValueError, match=message):
        copied.weights_file("3")


def test_without_averaged_weights_the_newest_step_is_the_default(copied):
    copied.averaged_weights.unlink()
    assert copied.default_weights() == "6"
    assert copied.weights_file("newest") == copied.checkpoints.path(6)
    shutil.rmtree(copied.checkpoints.folder)
    with pytest.raises(ValueError, match="has no weights yet: its first checkpoint is to come"):
        copied.weights_file()
    with pytest.raises(ValueError, match=r"no weights 'best'. It has: none yet"):
        copied.weights_file("best")


def test_a_model_has_the_weights_of_a_checkpoint_or_the_mean_of_the_last_ones(copied):
    assert copied.average(last=2) == [4, 6]
    four, six = (weights_in_checkpoint(copied, step) for step in (4, 6))
    means = [(one + other) / 2 for one, other in zip(four, six, strict=True)]
    for weights, expected in (("4", four), ("averaged", means), (None, means)):
        for ours, theirs in zip(copied.model(weights).weights, expected, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6)
    message = r"has 3 checkpoints in a row \(steps: 2, 4, 6\)\. Received: last=9\. Average fewer"
    with pytest.raises(ValueError, match=message):
        copied.average(last=9)


def test_two_processes_do_not_average_at_once(copied):
    with (
        locked_folder(copied.checkpoints.folder),
        pytest.raises(ValueError, match="is in use by process"),
    ):
        Run(copied.folder).average(last=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_ff": 10**13}, r"config.json describes a model of .* has only"),
        ({"vocab_size": 300}, r"vocab_size=300, but the run's vocabulary has 400"),
    ],
)
def test_a_model_that_does_not_fit_the_files_of_its_run_is_not_allocated(copied, change, message):
    settings = json.loads(copied.config_file.read_text())
    settings["experiment"]["model"] |= change
    del settings["checksum"]
    copied.config_file.write_text(json.dumps(settings))
    for weights in ("averaged", "newest"):
        with pytest.raises(ValueError, match=message):
            copied.model(weights)


def test_a_folder_without_settings_is_not_a_run(tmp_path):
    for call in (Run(tmp_path).experiment, Run(tmp_path).export, Run(tmp_path).default_weights):
        with pytest.raises(ValueError, match=r"is not a run: it has no config.json. t2t-train"):
            call()


def test_evaluations_are_the_whole_lines_of_the_metrics_file(copied):
    assert copied.evaluations() == []
    with pytest.raises(ValueError, match=r"no evaluation .* yet. The first comes after 1,000"):
        copied.evaluations(required=True)
    (copied.folder / "metrics.jsonl").write_text('{"step": 2, "loss": 1.5}\n{"step": 4, "lo')
    assert copied.evaluations(required=True) == [{"step": 2, "loss": 1.5}]
