"""The weights and the settings of a run that a table names."""

import json
from unittest import mock

import pytest
from support.runs.untrained import save_checkpoint, toy_tokenizer, untrained_run

from pipelines.atomic_files import write_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment
from t2t_keras.reproduction.run_stages import (
    ChosenWeights,
    average,
    check_same_text,
    default_weights,
    train,
    translate,
)
from t2t_keras.runs.run import Run


def test_the_default_weights_are_averaged_ones_or_those_of_the_newest_step(tmp_path):
    run = Run(tmp_path)
    with pytest.raises(ValueError, match="is not a run"):
        default_weights(run)
    with pytest.raises(ValueError, match="has no weights yet"):
        average(None, run, 5)
    checkpoint = tmp_path / "checkpoints" / "step-00001200.npz"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    assert default_weights(run) == ("1200", checkpoint, "the checkpoint of step 1,200")
    run.averaged.write({}, [1200], None)
    averaged = run.averaged_weights
    assert default_weights(run) == ("averaged", averaged, "the run's averaged weights")


@pytest.mark.long
def test_an_old_best_checkpoint_is_not_averaged(tmp_path):
    run = untrained_run(tmp_path / "run", tmp_path / "v", toy_tokenizer(tmp_path / "v"))
    for step in (100, 200, 300):
        save_checkpoint(run, step)
    run.checkpoints.path(200).unlink()
    stages = mock.Mock()
    weights = average(stages, run, 5)
    assert weights.text == "one checkpoint (up to step 300)"
    assert stages.run_once.call_args.kwargs["arguments"] == [run.folder, "--last=1"]


def translation_stage(settings_of_run, **search):
    """Returns the arguments of the stage that translates with a run."""
    stages, run = mock.Mock(), mock.Mock()
    run.experiment.return_value = Experiment(search=SearchConfig(**settings_of_run))
    runs = [(run, ChosenWeights("9", "weights", ""))]
    translate(stages, "one", runs, SearchConfig(**search), "in", "out")
    return stages.run_once.call_args.kwargs


def test_a_translation_depends_on_all_search_settings_of_its_run():
    plain = translation_stage({"banned": (5,)})["depends_on"]
    assert plain != translation_stage({"banned": (5,), "penalty": "marian"})["depends_on"]
    assert json.loads(json.dumps(plain)) == plain, "it is compared with what a file keeps"


def test_outputs_of_any_kind_are_not_constrained_as_the_run_is():
    run = {"constrain": "tree"}
    assert "--constrain=" in translation_stage(run)["arguments"]
    assert "--constrain=tree" in translation_stage(run, constrain="tree")["arguments"]


def test_a_run_is_not_resumed_with_a_different_text(tmp_path):
    run, record = Run(tmp_path / "row" / "run"), tmp_path / "row" / "text.json"
    dev = []
    for name in ("dev.en", "dev.de"):
        dev.append(tmp_path / name)
        dev[-1].write_text(f"{name}\n")
    folders = {}
    for name in ("data", "moved", "other"):
        folders[name] = tmp_path / name
        folders[name].mkdir()
        digest = "2" if name == "other" else "1"
        write_json(folders[name] / "preparation.json", {"source text": digest})
    check_same_text(record, run, folders["other"], None)
    check_same_text(record, run, folders["data"], dev)  # nothing was trained with the other text
    run.folder.mkdir()
    run.config_file.write_text("{}")
    check_same_text(record, run, folders["moved"], dev)  # the same text in another place
    with pytest.raises(ValueError, match=r"different training text.*Received: .*other"):
        check_same_text(record, run, folders["other"], dev)
    with pytest.raises(ValueError, match=r"different held-out text.*Received: none"):
        check_same_text(record, run, folders["data"], None)
    dev[1].write_text("changed\n")
    with pytest.raises(ValueError, match=r"different held-out text.*dev.en and .*dev.de"):
        check_same_text(record, run, folders["data"], dev)
    stages = mock.Mock(folder=record.parent)
    with pytest.raises(ValueError, match="different training text"):
        train(stages, run, mock.Mock(), folders["other"])
    stages.run_once.assert_not_called()
