"""A CTranslate2 folder as an engine: its settings, its damage, processes without TensorFlow."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from pipelines.atomic_files import read_json, write_json
from pipelines.tokenizers import SeparateTokenizers, load_tokenizer
from pipelines.toy.grammar import pairs
from t2t_keras.runs.exports.engine_exports import vocabulary_files
from t2t_keras.translating.engines.ctranslate2 import RECORD, CTranslate2Engine, is_ctranslate2
from t2t_keras.translating.find import load_translator

LINES = "".join(f"{english}\n" for english, _ in pairs(4))


@pytest.fixture(scope="module")
def folder(exported):
    return exported("ctranslate2")


@pytest.fixture
def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "ct2")


@pytest.mark.long
def test_evaluating_loads_neither_tensorflow_nor_keras(folder, without_backends, tmp_path):
    (tmp_path / "source").write_text(LINES)
    (tmp_path / "reference").write_text(LINES)
    files = [f"--{name}={tmp_path / name}" for name in ("source", "reference", "output")]
    words = [sys.executable, "-m", "t2t_keras.cli.evaluate", folder, "--beam=3", *files]
    result = subprocess.run(words, **without_backends)
    assert result.stdout.startswith("BLEU"), result.stderr
    expected = load_translator(folder).translate(LINES.splitlines(), beam=3)
    assert (tmp_path / "output").read_text().splitlines() == expected


def test_the_settings_are_those_of_the_export(folder):
    engine = CTranslate2Engine(folder)
    assert (engine.config.extra_length, engine.config.n_best, engine.most) == (9, 1, 4)
    assert engine.split == "auto" and engine.longest is None
    other = engine.with_search(beam=2)
    assert other.config.beam == 2 != engine.config.beam and other.translator is engine.translator
    assert engine.digest().keys() == {"ctranslate2"}
    engine.close()


def test_an_export_of_an_earlier_version_cannot_align_words(copied):
    record = read_json(copied / RECORD)
    del record["alignment"]
    write_json(copied / RECORD, record)
    translator = load_translator(copied)
    assert translator.translate(["The dog"], confidence=True)
    for options in ({"alignments": True}, {"markup": "html"}):
        with pytest.raises(ValueError, match=r"cannot align words: an earlier .*with t2t-export"):
            translator.translate(["The <b>dog</b> sleeps"], **options)


def test_without_ctranslate2_the_error_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ValueError, match=r'pip install "t2t-keras\[ctranslate2\]"'):
        CTranslate2Engine(folder)


def cut(name):
    return lambda folder: os.truncate(folder / name, 100)


def remove(name):
    return lambda folder: (folder / name).unlink()


def forget_search(folder):
    (folder / RECORD).write_text(json.dumps({"dtype": "float32"}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut("model.bin"), "model.bin does not match its SHA-256"),
        (cut("bpe.model"), "bpe.model does not match its SHA-256"),
        (remove("model.bin"), "model.bin is missing"),
        (remove(RECORD), "it has no export.json"),
        (cut(RECORD), "export.json is damaged"),
        (forget_search, "it was written by an earlier version"),
    ],
)
def test_a_damaged_folder_is_refused_by_name(copied, damage, message):
    damage(copied)
    assert is_ctranslate2(copied)
    with pytest.raises(ValueError, match=f"{message}.*xport the run again with t2t-export"):
        CTranslate2Engine(copied)


def test_separate_vocabularies_are_read_from_the_same_folder(vocabulary, tmp_path):
    sides = load_tokenizer(vocabulary), load_tokenizer(vocabulary)
    paths = vocabulary_files(SeparateTokenizers(*sides), tmp_path)
    assert {path.name.split(".")[0] for path in paths} == {"source", "target"}
    (tmp_path / "vocabulary").rename(tmp_path.with_name("rest"))  # its empty folders
    found = load_tokenizer(tmp_path)
    assert isinstance(found, SeparateTokenizers)
    assert found.contents() == SeparateTokenizers(*sides).contents()
