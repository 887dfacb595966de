"""A sweep trains each combination of values and seed once, and compares the runs."""

import pytest
from support.runs.faked_stages import Ended
from support.runs.untrained import tiny_experiment

from pipelines.exit_codes import DIVERGED
from t2t_keras.plugins import load_plugin
from t2t_keras.runs import sweep
from t2t_keras.runs.training import sweep as module

SETTINGS = {"training.learning_rate": [0.5, 1.0], "model.dropout": [0.1]}
RUNS = [f"dropout=0.1-learning_rate={rate}-seed={seed}" for seed in (1, 2) for rate in (0.5, 1.0)]


@pytest.fixture
def trainings(monkeypatch):
    """The folders that were trained; those in `trainings.failing` end with a code."""

    class Trainings(list):
        failing = {}

    trained = Trainings()

    def start(command, arguments, log):
        flags = dict(each.removeprefix("--").split("=", 1) for each in arguments if "=" in each)
        folder = flags["run"]
        trained.append(folder.rpartition("/")[2])
        if code := trained.failing.get(trained[-1]):
            return Ended(code)
        averaged = module.RunFolder(folder).averaged_weights
        averaged.parent.mkdir(parents=True, exist_ok=True)
        averaged.write_text("")
        (averaged.parent / "config.json").write_text("{}")
        return Ended()

    monkeypatch.setattr("t2t_keras.stages.stages.start_command", start)
    monkeypatch.setattr(module, "compare", lambda folders, *_, notes: ([*folders], notes))
    return trained


def test_an_interrupted_sweep_trains_only_the_missing_runs(trainings, tmp_path):
    trainings.failing = {RUNS[1]: 2}
    with pytest.raises(Exception, match=r"learning_rate=1\.0-seed=1"):
        sweep(tiny_experiment(), tmp_path, SETTINGS, seeds=2)
    assert trainings == RUNS[:2]
    trainings.failing = {}
    folders, _ = sweep(tiny_experiment(), tmp_path, SETTINGS, seeds=2)
    assert trainings == [*RUNS[:2], *RUNS[1:]] and [each.name for each in folders] == RUNS
    trainings.clear()
    more = {**SETTINGS, "training.learning_rate": [0.5, 1.0, 2.0]}
    sweep(tiny_experiment(), tmp_path, more, seeds=1)
    assert trainings == ["dropout=0.1-learning_rate=2.0-seed=1"]
    with pytest.raises(ValueError, match="give a different --run"):
        sweep(tiny_experiment(toy_pairs=50), tmp_path, SETTINGS)


def test_a_sweep_has_the_plug_in_files_of_this_process_and_keeps_to_them(trainings, tmp_path):
    plugin, experiment = tmp_path / "own.py", tiny_experiment()
    for text in ("", "# edited\n"):
        plugin.write_text(f"from t2t_keras.losses import *\nLOSSES['own'] = TokenLoss\n{text}")
        load_plugin(plugin)
        experiment.training.loss = "own"
        if not text:
            sweep(experiment, tmp_path / "runs", SETTINGS)
            assert experiment.imports == (str(plugin),)
            trainings.clear()
    with pytest.raises(ValueError, match=r"Changed: imports.*give a different --run"):
        sweep(experiment, tmp_path / "runs", SETTINGS, seeds=2)
    assert not trainings


def test_a_run_that_diverges_is_left_out_with_a_note(trainings, tmp_path):
    trainings.failing = {RUNS[1]: DIVERGED}
    folders, notes = sweep(tiny_experiment(), tmp_path, SETTINGS, seeds=1)
    assert [each.name for each in folders] == RUNS[:1]
    assert notes[0] == f"Diverged, and not in the table: {RUNS[1]}."


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training.learnin_rate": [1]}, "did you mean 'training.learning_rate'"),
        ({"training.seed": [1]}, "--seeds changes it"),
        ({"training.learning_rate": [0.5, 0.5]}, "values that differ"),
        ({"training.learning_rate": [-1.0]}, "`training.learning_rate` must be"),
        ({"training.learning_rate": []}, "settings with one value or more"),
    ],
)
def test_a_mistake_is_found_before_the_first_training(trainings, tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        sweep(tiny_experiment(), tmp_path, settings)
    assert not trainings
