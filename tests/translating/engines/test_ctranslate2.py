"""A CTranslate2 folder as an engine: its settings, its damage, processes without TensorFlow."""

import subprocess
import sys

import pytest

from pipelines.toy.grammar import pairs
from t2t_keras.translating.exports import load_translator

LINES = "".join(f"{english}\n" for english, _ in pairs(4))


@pytest.mark.long
def test_evaluating_loads_neither_tensorflow_nor_keras(exported, without_backends, tmp_path):
    folder = exported("ctranslate2")
    (tmp_path / "source").write_text(LINES)
    (tmp_path / "reference").write_text(LINES)
    files = [f"--{name}={tmp_path / name}" for name in ("source", "reference", "output")]
    words = [sys.executable, "-m", "t2t_keras.cli", "evaluate", folder, "--beam=3", *files]
    result = subprocess.run(words, **without_backends)
    assert result.stdout.startswith("BLEU"), result.stderr
    expected = load_translator(folder).translate(LINES.splitlines(), beam=3)
    assert (tmp_path / "output").read_text().splitlines() == expected
