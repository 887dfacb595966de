import shutil

import numpy as np
import pytest
from support.runs.untrained import QUICK

from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import WordPieceTokenizer, save_tokenizer
from t2t_keras.runs import Run, RunEnsemble, load_runs
from t2t_keras.runs.parsing import leaf_symbol


def test_one_folder_is_a_run_and_several_are_an_ensemble_with_the_settings_of_the_first(run):
    assert isinstance(load_runs([run.folder]), Run)
    ensemble = load_runs([run.folder, run.folder])
    assert isinstance(ensemble, RunEnsemble)
    assert ensemble.experiment().flat() == run.experiment().flat()
    assert ensemble.engine().digest()["weights"] == run.engine().digest()["weights"] * 2
    with pytest.raises(ValueError, match=rf"{run.folder} does not record the leaf symbol"):
        leaf_symbol(ensemble, None)


def test_folders_that_are_no_runs_or_have_different_vocabularies_are_refused(run, tmp_path):
    with pytest.raises(ValueError, match=r"takes a run's folder, or several .* Received: none"):
        load_runs([])
    with pytest.raises(ValueError, match="is not a run"):
        load_runs([run.folder, tmp_path])
    shutil.copytree(run.folder, tmp_path / "other")
    save_tokenizer(WordPieceTokenizer([*SPECIAL_PIECES, "a"]), tmp_path / "other" / "vocabulary")
    with pytest.raises(ValueError, match="other has a different vocabulary than"):
        load_runs([run.folder, tmp_path / "other"])


@pytest.mark.long
def test_an_ensemble_of_a_run_with_itself_translates_as_the_run(run):
    texts = ["The dog sleeps.", "The cat sleeps."]
    ours, theirs = (
        runs.translator(**QUICK).translations(texts)
        for runs in (RunEnsemble([run.folder] * 2), run)
    )
    for one, other in zip(ours, theirs, strict=True):
        assert one[0].text == other[0].text
        assert one[0].score == pytest.approx(other[0].score, rel=1e-5)


def test_each_run_of_an_ensemble_has_its_own_weights(run, copied):
    copied.averaged_weights.unlink()
    ensemble = RunEnsemble([run.folder, copied.folder])
    for model, own in zip(ensemble.model().models, (run.model(), copied.model("6")), strict=True):
        for ours, theirs in zip(model.weights, own.weights, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="toy has no weights '2'"):
        ensemble.model("2")
