"""The weights and the settings of a run that a table names."""

import contextlib
from unittest import mock

import pytest
from support.runs.untrained import save_checkpoint, toy_tokenizer, untrained_run

from pipelines.atomic_files import write_json
from pipelines.exit_codes import DIVERGED, NO_SPACE
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment, load_experiment
from t2t_keras.reproduction import run_stages
from t2t_keras.reproduction.recipe import Recipe
from t2t_keras.reproduction.run_stages import (
    ChosenWeights,
    average,
    check_same,
    default_weights,
    train,
    train_unless_it_diverges,
    translate,
)
from t2t_keras.runs.run import Run
from t2t_keras.stages.stages import StageFailed


def test_the_default_weights_are_averaged_ones_or_those_of_the_newest_step(tmp_path):
    run = Run(tmp_path)
    with pytest.raises(ValueError, match="is not a run"):
        default_weights(run)
    with pytest.raises(ValueError, match="has no weights yet"):
        average(None, run, 5)
    checkpoint = tmp_path / "checkpoints" / "step-00001200.npz"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    assert default_weights(run) == ("1200", "the checkpoint of step 1,200")
    run.averaged.write({}, [1200], None)
    assert default_weights(run) == ("averaged", "the run's averaged weights")


@pytest.mark.long
def test_an_old_best_checkpoint_is_not_averaged(tmp_path):
    run = untrained_run(tmp_path / "run", tmp_path / "v", toy_tokenizer(tmp_path / "v"))
    for step in (100, 200, 300):
        save_checkpoint(run, step)
    run.checkpoints.path(200).unlink()
    stages = mock.Mock()
    assert average(stages, run, 5).text == "one checkpoint (up to step 300)"
    assert stages.run_once.call_args.kwargs["arguments"] == [run.folder, "--last=1"]


def translation_stage(settings_of_run, **search):
    """Returns the arguments of the stage that translates with a run."""
    stages, run = mock.Mock(), mock.Mock()
    run.experiment.return_value = Experiment(search=SearchConfig(**settings_of_run))
    translate(stages, "one", [(run, ChosenWeights("9", ""))], SearchConfig(**search), "in", "out")
    return stages.run_once.call_args.kwargs


def test_a_translation_depends_on_all_search_settings_of_its_run():
    plain = translation_stage({"banned": (5,)})["depends_on"]
    assert plain != translation_stage({"banned": (5,), "penalty": "marian"})["depends_on"]


def test_outputs_of_any_kind_are_not_constrained_as_the_run_is():
    run = {"constrain": "tree"}
    assert "--constrain=" in translation_stage(run)["arguments"]
    assert "--constrain=tree" in translation_stage(run, constrain="tree")["arguments"]


def test_a_run_resumes_with_its_own_settings_and_text_and_more_steps_only(tmp_path):
    run, data = Run(tmp_path / "run"), tmp_path / "data"
    run.folder.mkdir()
    dev = [tmp_path / "dev.en", tmp_path / "dev.de"]
    for path in dev:
        path.touch()
    data.mkdir()
    write_json(data / "preparation.json", {"source text": "1" * 32})

    def check(dev=dev, first=None, **changes):
        ours = load_experiment("base")
        for name, value in changes.items():
            setattr(ours.training, name, value)
        check_same(run, Recipe("base", ours, ours), data, dev, first)

    check(dev=None, learning_rate=0.1)  # nothing was trained with these
    check()
    run.config_file.touch()
    (run.folder / "checkpoints").mkdir()
    run.checkpoints.path(500).touch()
    check(steps=500, log_every=1)
    base = load_experiment("base")
    for changes, message in (
        ({"steps": 499}, "already been trained for 500 steps.*Received: 499 steps"),
        ({"learning_rate": 0.5}, r"learning_rate \(was 1.0, is 0.5\)\. .*different --output"),
        ({"schedule": "linear"}, r"training\.steps \(was None, is 100000\)"),
        ({"dev": None}, "Changed: held-out text"),
        ({"first": (run, Recipe("", base, base))}, r"steps of --first \(was None, is 100000\)"),
    ):
        with pytest.raises(ValueError, match=message):
            check(**changes)
    write_json(data / "preparation.json", {"source text": "2" * 32})
    stages = mock.Mock(folder=tmp_path)
    ours = load_experiment("base")
    with pytest.raises(ValueError, match=r"Changed: training text\."):
        train(stages, run, Recipe("base", ours, ours), data, dev)
    stages.run_once.assert_not_called()


@pytest.mark.parametrize("code", [DIVERGED, NO_SPACE])
def test_a_training_that_diverges_is_a_result_and_other_failures_end_the_table(code, monkeypatch):
    monkeypatch.setattr(run_stages, "train", mock.Mock(side_effect=StageFailed("failed", code)))
    with contextlib.nullcontext() if code == DIVERGED else pytest.raises(StageFailed):
        assert not train_unless_it_diverges(mock.Mock(), None, None, None)
