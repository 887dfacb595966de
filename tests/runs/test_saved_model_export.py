import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from commands import ROOT

from pipelines.sentences import split_sentences
from t2t_keras.decoding.translator import Translation
from t2t_keras.export.signature_constants import NO_SCORE
from t2t_keras.export.small_batches import SmallBatches
from t2t_keras.runs import Run, saved_model_export
from t2t_keras.runs.export_folders import find_export
from t2t_keras.runs.saved_model_export import Export

TEXTS = ["The dog sleeps.", "", "The cat sleeps."]


def test_an_export_translates_as_its_run(toy_run):
    folder = toy_run[1]
    assert find_export(folder) is None, "a run is not an export"
    export = Export(find_export(folder / "export"))
    assert (export.config.beam, export.config.n_best) == (2, 2)
    ours, theirs = export.translate(TEXTS), Run(folder).translator(n_best=2).translate(TEXTS)
    for one, other in zip(ours, theirs, strict=True):
        assert [each.text for each in one] == [each.text for each in other]
        np.testing.assert_allclose(
            [each.score for each in one], [each.score for each in other], rtol=1e-5
        )


def test_an_export_translates_several_sentences_as_its_run(toy_run):
    folder, counts = toy_run[1], []
    texts = ["The dog sleeps. The cat sleeps!", "", "The cat sleeps.\n\nTwo dogs sleep."]
    ours = Export(find_export(folder / "export")).translate(texts, counts.append, split_sentences)
    theirs = Run(folder).translator(n_best=2).translate(texts, split=split_sentences)
    assert [[each.text for each in one] for one in ours] == [
        [each.text for each in other] for other in theirs
    ]
    assert "\n\n" in ours[2][0].text and counts == [3]


def test_words_are_aligned_by_the_weights_of_the_signature(run):
    export, asked = Export.__new__(Export), []

    def align(text, translation):
        asked.append((text.numpy()[0].decode(), translation.numpy()[0].decode()))
        return {"weights": tf.reverse(tf.eye(4), [0])[None]}  # three words and the end

    export.folder, export.signatures = run.folder, {"align": align}
    aligned = export.aligner()
    sentence = ("The that the", "das mein die")
    first = aligned(Translation("", 0.0, [sentence]))
    assert first == [(0, 0), (1, 2), (2, 1)]
    shifted = [(source + 3, target + 3) for source, target in first]
    assert aligned(Translation("", 0.0, [sentence] * 2)) == first + shifted
    assert asked == [sentence] * 3
    message = r"less than 256 pieces. Received: 'dog dog .* Give the run"
    with pytest.raises(ValueError, match=message):
        aligned(Translation("", 0.0, [("dog " * 300, "Hund")]))
    export.signatures = {}
    with pytest.raises(ValueError, match="cannot align words: an earlier version wrote it"):
        export.aligner()


def test_missing_translations_are_left_out_and_texts_come_in_batches(monkeypatch):
    monkeypatch.setattr(saved_model_export, "BATCH", 2)

    def signature(text):
        count = len(text)
        return {
            "translations": tf.constant([["ä", ""]] * count),
            "scores": tf.constant([[-1.0, NO_SCORE]] * count),
        }

    export, counts = Export.__new__(Export), []
    export.signature, export.small = signature, SmallBatches({})
    results = export.translate(["a", "b", "c"], counts.append)
    assert [[(each.text, each.score) for each in texts] for texts in results] == [[("ä", -1.0)]] * 3
    assert counts == [2, 3]


def test_a_savedmodel_of_another_program_is_refused(backwards_export):
    with pytest.raises(ValueError, match="is not a SavedModel that takes text"):
        Export(backwards_export / "1")


def test_translating_with_an_export_loads_no_keras(toy_run, tmp_path):
    folder = toy_run[1] / "export"
    (tmp_path / "keras.py").write_text("raise SystemExit('must not be loaded')\n")
    result = subprocess.run(
        [sys.executable, "-m", "t2t_keras.cli.translate", folder],
        input="".join(f"{text}\n" for text in TEXTS),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    expected = [best.text for best, *_ in Export(find_export(folder)).translate(TEXTS)]
    assert result.stdout.splitlines() == expected
