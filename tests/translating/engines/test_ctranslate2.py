"""A CTranslate2 folder as an engine: it translates as the run does, or says why it cannot."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from pipelines.atomic_files import read_json, write_json
from pipelines.tokenizers import SeparateTokenizers, load_tokenizer
from pipelines.toy.grammar import pairs
from t2t_keras.runs.exports.engine_exports import vocabulary_files
from t2t_keras.translating.engines.ctranslate2 import RECORD, CTranslate2Engine, is_ctranslate2
from t2t_keras.translating.find import load_translator

TEXTS = [*(english for english, _ in pairs(60)), "", "Ｗｉｄｅ \x07\u00a0 A\u0301", "dog " * 1100]


@pytest.fixture(scope="module")
def folder(sharp_run, tmp_path_factory):
    path = tmp_path_factory.mktemp("engine") / "ct2"
    return sharp_run.export(path, "ctranslate2", extra_length=9)


@pytest.fixture
def copied(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "ct2")
    return tmp_path / "ct2"


@pytest.mark.long
@pytest.mark.parametrize("search", [{}, {"beam": 1}])
def test_translations_are_those_of_the_run(sharp_run, folder, search):
    expected = sharp_run.translator(extra_length=9).translations(TEXTS, **search)
    found = load_translator(folder).translations(TEXTS, **search)
    assert [[e.text for e in row] for row in found] == [[e.text for e in row] for row in expected]
    scores = [[each.score for row in rows for each in row] for rows in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4)


def words_of(name, *arguments):
    return [sys.executable, "-m", f"t2t_keras.cli.{name}", *map(str, arguments)]


def test_translating_and_evaluating_load_neither_tensorflow_nor_keras(
    folder, without_backends, tmp_path
):
    words = words_of("translate", folder, "--beam=3")
    lines = "".join(f"{text}\n" for text in TEXTS[:4])
    result = subprocess.run(words, input=lines, **without_backends)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == load_translator(folder).translate(TEXTS[:4], beam=3)
    (tmp_path / "source").write_text(lines)
    (tmp_path / "reference").write_text(result.stdout)
    files = [f"--{name}={tmp_path / name}" for name in ("source", "reference")]
    words = words_of("evaluate", folder, "--beam=3", f"--output={tmp_path / 'output'}", *files)
    result = subprocess.run(words, **without_backends)
    assert result.stdout.startswith("BLEU"), result.stderr
    assert (tmp_path / "output").read_text() == (tmp_path / "reference").read_text()


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"method": "sample"}, "--sample does not work with CTranslate2.* Give the run"),
        ({"banned": [" das"]}, "--banned does not work with CTranslate2"),
        ({"no_repeat_ngram": 2}, "--no_repeat_ngram does not work with CTranslate2"),
        ({"constrain": "tree"}, "--constrain does not work with CTranslate2"),
        ({"n_best": 5}, "`n_best` must be at most the beam width, beam=4"),
        ({"require": [["Hund"]]}, "--glossary and --require do not work with CTranslate2"),
        ({"glossary": {"dog": "Hund"}}, "this model cannot search for required phrases"),
    ],
)
def test_a_search_that_ctranslate2_cannot_follow_is_refused(folder, search, message):
    with pytest.raises(ValueError, match=message):
        load_translator(folder).translations(["The dog"], **search)


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
    with pytest.raises(
        ValueError, match=r"cannot align words: an earlier .* again with t2t-export"
    ):
        translator.translate(["The dog"], alignments=True)


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
        (remove("tokenizer.json"), "tokenizer.json is missing"),
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
