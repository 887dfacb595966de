"""A CTranslate2 folder as an engine: it translates as the run does, or says why it cannot."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from commands import ROOT
from in_process import call
from serving_client import get, predict, until

from pipelines.tokenizers import SeparateTokenizers, load_tokenizer
from pipelines.toy_grammar import pairs
from t2t_keras.runs import CTranslate2Export, Run
from t2t_keras.runs.exports import vocabulary_files
from t2t_keras.translating.engines.ctranslate2 import RECORD, is_ctranslate2

PREDICT = "v1/models/toy:predict"
TEXTS = [*(english for english, _ in pairs(60)), "", "Ｗｉｄｅ \x07\u00a0 A\u0301", "dog " * 1100]


@pytest.fixture(scope="module")
def sharp_run(new_run, tmp_path_factory):
    """A run with random weights that is sure of most tokens and writes up to 20 of them."""
    run = new_run(tmp_path_factory.mktemp("runs") / "sharp")
    model, random = run.loaded(None), np.random.default_rng(1)
    for weight in model.weights:
        if len(weight.shape) == 2:
            scale = 0.5 if weight.path.endswith("matrix") else 0.3
            weight.assign(random.normal(0, scale, weight.shape))
    matrix, bias = model.embedding.matrix.numpy(), np.zeros(400)
    matrix[2], matrix[:, 4], matrix[2, 4] = 0, 0, 60  # the end follows a sinusoid of the positions
    bias[:3] = -30, -30, -20
    model.embedding.matrix.assign(matrix)
    model.embedding.bias.assign(bias)
    model.save_weights(run.averaged_weights)
    return Run(run.folder)


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
    expected = sharp_run.translator(extra_length=9, **search).translate(TEXTS)
    found = CTranslate2Export(folder).translator(**search).translate(TEXTS)
    assert [[e.text for e in row] for row in found] == [[e.text for e in row] for row in expected]
    scores = [[each.score for row in rows for each in row] for rows in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4)


@pytest.fixture
def without_backends(tmp_path):
    """Arguments of a process in which neither TensorFlow nor Keras can be imported."""
    for name in ("tensorflow", "keras"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('must not be loaded')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    return {"env": environment, "cwd": ROOT, "text": True}


def words_of(name, *arguments):
    return [sys.executable, "-m", f"t2t_keras.cli.{name}", *map(str, arguments)]


def test_translating_and_evaluating_load_neither_tensorflow_nor_keras(
    folder, without_backends, tmp_path
):
    words = words_of("translate", folder, "--beam=3")
    lines = "".join(f"{text}\n" for text in TEXTS[:4])
    result = subprocess.run(words, input=lines, capture_output=True, **without_backends)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == CTranslate2Export(folder).translate(TEXTS[:4], beam=3)
    (tmp_path / "source").write_text(lines)
    (tmp_path / "reference").write_text(result.stdout)
    files = [f"--{name}={tmp_path / name}" for name in ("source", "reference")]
    words = words_of("evaluate", folder, "--beam=3", f"--output={tmp_path / 'output'}", *files)
    result = subprocess.run(words, capture_output=True, **without_backends)
    assert result.stdout.startswith("BLEU"), result.stderr
    assert (tmp_path / "output").read_text() == (tmp_path / "reference").read_text()


@pytest.mark.long
def test_a_server_without_backends_loads_the_folder_again_when_it_is_replaced(
    copied, sharp_run, without_backends
):
    words = words_of("serve", copied, "--port=0", "--name=toy")
    with subprocess.Popen(words, stdout=subprocess.PIPE, **without_backends) as process:
        try:
            address = re.search(r"http://[^/]+", process.stdout.readline()).group()
            for beam in (4, 2):
                best, n_best = (
                    predict(address, {"signature_name": name, "instances": TEXTS[:2]}, PREDICT)[1]
                    for name in ("serving_default", "translate_n_best")
                )
                found = CTranslate2Export(copied).translator(n_best=beam).translate(TEXTS[:2])
                rows = [each["translations"] for each in n_best["predictions"]]
                assert rows == [[each.text for each in row] for row in found]
                assert [each["translations"] for each in best["predictions"]] == [
                    row[0] for row in rows
                ]
                if beam == 4:
                    sharp_run.export(copied, "ctranslate2", force=True, extra_length=9, beam=2)
                    until(lambda: shape_of(address) == "2")
            _, signatures = get(address, "v1/models/toy/metadata")
            assert set(signatures["metadata"]["signature_def"]["signature_def"]) == {
                "serving_default",
                "translate_n_best",
                "translate_with_options",
            }
            row = {"text": " ".join(TEXTS[:2]), "beam": 1}
            body = {"signature_name": "translate_with_options", "instances": [row]}
            (answer,) = predict(address, body, PREDICT)[1]["predictions"]
            expected = CTranslate2Export(copied).translate([row["text"]], beam=1, split="auto")
            assert answer["translations"] == [*expected, ""]
        finally:
            process.terminate()


def shape_of(address):
    """Returns the number of translations that the server's metadata promises."""
    _, answer = get(address, "v1/models/toy/metadata")
    signature = answer["metadata"]["signature_def"]["signature_def"]["translate_n_best"]
    return signature["outputs"]["scores"]["tensor_shape"]["dim"][1]["size"]


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"method": "sample"}, "--sample does not work with CTranslate2.* Give the run"),
        ({"banned": [" das"]}, "--banned does not work with CTranslate2"),
        ({"no_repeat_ngram": 2}, "--no_repeat_ngram does not work with CTranslate2"),
        ({"constrain": "tree"}, "--constrain does not work with CTranslate2"),
        ({"n_best": 5}, "`n_best` must be at most the beam width, beam=4"),
    ],
)
def test_a_search_that_ctranslate2_cannot_follow_is_refused(folder, search, message):
    with pytest.raises(ValueError, match=message):
        CTranslate2Export(folder).translator(**search)


@pytest.mark.parametrize("flag", ["--alignments", "--prefix=Ein", "--weights=best"])
def test_flags_that_only_a_run_follows_are_refused(folder, flag):
    with pytest.raises(ValueError, match="has no effect with a CTranslate2 folder, only with the"):
        call("translate", flag, folder)


def test_without_ctranslate2_the_error_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ValueError, match=r'pip install "t2t-keras\[ctranslate2\]"'):
        CTranslate2Export(folder)


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
        CTranslate2Export(copied)


def test_separate_vocabularies_are_read_from_the_same_folder(vocabulary, tmp_path):
    sides = load_tokenizer(vocabulary), load_tokenizer(vocabulary)
    paths = vocabulary_files(SeparateTokenizers(*sides), tmp_path)
    assert {path.name.split(".")[0] for path in paths} == {"source", "target"}
    (tmp_path / "vocabulary").rename(tmp_path.with_name("rest"))  # its empty folders
    found = load_tokenizer(tmp_path)
    assert isinstance(found, SeparateTokenizers)
    assert found.contents() == SeparateTokenizers(*sides).contents()
