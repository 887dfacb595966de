import os
import subprocess
import sys

import numpy as np
import pytest
from commands import ROOT

from pipelines.sentences import split_sentences
from t2t_keras.runs import Run
from t2t_keras.translating.engines.saved_model_export import Export
from t2t_keras.translating.export_folders import find_export

TEXTS = ["The dog sleeps.", "", "The cat sleeps."]


@pytest.mark.long
def test_an_export_translates_as_its_run(exported_toy_run):
    folder = exported_toy_run[1]
    assert find_export(folder) is None, "a run is not an export"
    export = Export(find_export(folder / "export"))
    assert (export.config.beam, export.config.n_best) == (2, 2)
    ours, theirs = export.translate(TEXTS), Run(folder).translator(n_best=2).translate(TEXTS)
    for one, other in zip(ours, theirs, strict=True):
        assert [each.text for each in one] == [each.text for each in other]
        np.testing.assert_allclose(
            [each.score for each in one], [each.score for each in other], rtol=1e-5
        )


@pytest.mark.long
def test_an_export_translates_several_sentences_as_its_run(exported_toy_run):
    folder, counts = exported_toy_run[1], []
    texts = ["The dog sleeps. The cat sleeps!", "", "The cat sleeps.\n\nTwo dogs sleep."]
    ours = Export(find_export(folder / "export")).translate(texts, counts.append, split_sentences)
    theirs = Run(folder).translator(n_best=2).translate(texts, split=split_sentences)
    assert [[each.text for each in one] for one in ours] == [
        [each.text for each in other] for other in theirs
    ]
    assert "\n\n" in ours[2][0].text and counts == [3]


def test_a_savedmodel_of_another_program_is_refused(backwards_export):
    with pytest.raises(ValueError, match="is not a SavedModel that takes text"):
        Export(backwards_export / "1")


@pytest.mark.long
def test_translating_with_an_export_loads_no_keras(exported_toy_run, tmp_path):
    folder = exported_toy_run[1] / "export"
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
