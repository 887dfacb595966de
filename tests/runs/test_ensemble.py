import shutil

import pytest
from support.runs.untrained import QUICK

from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import WordPieceTokenizer, save_tokenizer
from t2t_keras.runs import load_translator


def test_folders_that_are_no_runs_or_have_different_vocabularies_are_refused(run, tmp_path):
    with pytest.raises(ValueError, match=r"takes a run's folder, or several .* Received: none"):
        load_translator()
    with pytest.raises(ValueError, match="is not a run"):
        load_translator(run.folder, tmp_path)
    shutil.copytree(run.folder, tmp_path / "other")
    save_tokenizer(WordPieceTokenizer([*SPECIAL_PIECES, "a"]), tmp_path / "other" / "vocabulary")
    with pytest.raises(ValueError, match="other has a different vocabulary than"):
        load_translator(run.folder, tmp_path / "other")
    with pytest.raises(ValueError, match="an ensemble is TensorFlow's"):
        load_translator(run.folder, run.folder, engine="litert")


@pytest.mark.long
def test_an_ensemble_of_a_run_with_itself_translates_as_the_run(run):
    texts = ["The dog sleeps.", "The cat sleeps."]
    ours, theirs = (
        load_translator(*folders, engine="tensorflow").translations(texts, **QUICK)
        for folders in ([run.folder] * 2, [run.folder])
    )
    for one, other in zip(ours, theirs, strict=True):
        assert one[0].text == other[0].text
        assert one[0].score == pytest.approx(other[0].score, rel=1e-5)


def test_each_run_of_an_ensemble_has_its_own_weights(run, copied):
    copied.averaged_weights.unlink()
    engine = load_translator(run.folder, copied.folder).engine
    own = [one.engine(weights).digest()["weights"] for one, weights in ((run, None), (copied, "6"))]
    assert engine.digest()["weights"] == own[0] + own[1]
    with pytest.raises(ValueError, match="toy has no weights '2'"):
        load_translator(run.folder, copied.folder, weights="2")
