"""A model for LiteRT as an engine: its folder, its threads, and processes without TensorFlow."""

import functools
import json
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from support.processes.commands import ROOT

from pipelines.atomic_files import read_json, write_json
from pipelines.toy.grammar import pairs
from t2t_keras.decoding.rows import Rows
from t2t_keras.export.formats import LITERT_MODEL
from t2t_keras.runs import Run
from t2t_keras.translating.engines.litert import LiteRTEngine
from t2t_keras.translating.engines.litert_model import LiteRTModel
from t2t_keras.translating.exports import RECORD, load_translator
from t2t_keras.translating.request import Request
from t2t_keras.translating.translator import Translator

FEW = ["The dog sleeps.", "The cats see the old house.", ""]
LINES = "".join(f"{text}\n" for text in FEW)
TEXTS = [english for english, _ in pairs(8)]


@pytest.fixture
def folder(exported):
    return exported("litert")


def flip(folder):
    contents = bytearray((folder / LITERT_MODEL).read_bytes())
    contents[len(contents) // 2] ^= 1
    (folder / LITERT_MODEL).write_bytes(contents)


def other_vocabulary(folder):
    path = next((folder / "vocabulary").glob("*.model"))
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (flip, "model.tflite does not match its SHA-256"),
        (other_vocabulary, r"vocabulary/\w+.model does not match its SHA-256"),
    ],
)
def test_a_damaged_folder_is_refused_by_name(unconverted, damage, message):
    damage(unconverted)
    with pytest.raises(ValueError, match=f"{message}.*xport the run again with t2t-export"):
        LiteRTEngine(unconverted)


@pytest.mark.parametrize(("name", "value"), [("search.unknown", 1), ("alignment", {"layer": 99})])
def test_a_record_that_was_edited_is_refused_in_one_line(unconverted, name, value):
    record = read_json(unconverted / RECORD)
    *outer, last = name.split(".")
    functools.reduce(dict.__getitem__, outer, record)[last] = value
    write_json(unconverted / RECORD, record)
    with pytest.raises(ValueError, match="xport the run again") as error:
        LiteRTEngine(unconverted)
    assert "\n" not in str(error.value)


def test_the_settings_are_those_of_the_export(unconverted):
    engine = LiteRTEngine(unconverted)
    assert (engine.config.extra_length, engine.config.n_best, engine.most) == (9, 1, 4)
    assert (engine.split, engine.longest, engine.tags, engine.dtype) == (
        *("auto", None, [None], "float32"),
    )
    assert engine.digest().keys() == {"weights", "files"}
    other = engine.with_search(engine.config.changed(beam=3))
    assert other.config.beam == 3 and other.models is engine.models and engine.config.beam == 4


@pytest.mark.long
def test_results_do_not_depend_on_the_threads_of_a_step_and_of_callers(folder):
    engines = [LiteRTEngine(folder, threads) for threads in (1, 2)]
    assert [len(engine.models) for engine in engines] == [1, 2]
    asked, found = [Request(text, beam=beam) for text in TEXTS for beam in (1, 2, 4)], {}
    expected = Translator(engines[0]).translate(asked)

    def work(name):
        found[name] = Translator(engines[1]).translate(asked)

    threads = [threading.Thread(target=work, args=[name]) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[name] for name in range(3)] == [expected] * 3


@pytest.mark.long
def test_a_row_of_padding_does_not_disturb_others(folder):
    engine = LiteRTEngine(folder)
    ids = np.array([[0, 0, 0], [9, 8, 2]], "int32")
    together, alone = engine.search(Rows(ids, [0, 1])), engine.search(Rows(ids[1:], [1]))
    np.testing.assert_array_equal(together.tokens[1, :, : alone.tokens.shape[2]], alone.tokens[0])
    np.testing.assert_allclose(together.scores[1], alone.scores[0], atol=1e-5)


@pytest.mark.long
def test_a_file_that_is_changed_in_place_does_not_harm_a_loaded_model(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    translator = load_translator(copy)
    expected = translator.translate(FEW)
    os.truncate(copy / LITERT_MODEL, 0)
    assert translator.translate(FEW) == expected


@pytest.mark.long
def test_a_run_with_its_export_is_used_without_tensorflow_and_keras(
    sharp_run, folder, without_backends, tmp_path
):
    run = Run(shutil.copytree(sharp_run.folder, tmp_path / "run"))
    shutil.copytree(folder, run.folder / "export_litert" / "1")
    texts = tmp_path / "texts"
    texts.write_text(LINES)

    def light(name, *arguments):
        words = [sys.executable, "-m", "t2t_keras.cli", name, run.folder, *arguments]
        result = subprocess.run(words, **without_backends)
        assert result.returncode == 0, result.stderr
        assert "XNNPACK" not in result.stderr, "LiteRT's notes are held back"
        return result.stdout.splitlines()

    flags = "--json", "--alignments", "--confidence"
    objects = [json.loads(line) for line in light("translate", f"--input={texts}", *flags)]
    translator = load_translator(folder)
    assert [each["translations"][0]["text"] for each in objects] == translator.translate(FEW)
    found = light("score", f"--source={texts}", f"--target={texts}")
    expected = [each.log_p for each in run.score([*zip(FEW, FEW, strict=True)])]
    ours = [float(line.split("\t")[0]) for line in found]
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-3)
    assert light("evaluate", f"--source={texts}", f"--reference={texts}")[0].startswith("BLEU")


@pytest.mark.nightly
def test_a_line_of_a_readme_makes_an_environment_that_translates(folder, tmp_path):
    readme = (ROOT / "t2t_keras/serving/README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if "light/bin/pip install" in line)
    line = line.replace("python3 ", f"{sys.executable} ").replace("install .", f"install {ROOT}")
    subprocess.run(["bash", "-euc", line], check=True, cwd=tmp_path, capture_output=True)
    light = tmp_path / "light" / "bin"
    words = [light / "pip", "list", "--format=json"]
    listed = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    names = {each["name"].lower() for each in listed}
    assert "t2t-keras" in names
    assert not names & {"tensorflow", "tensorflow-text", "keras", "jax", "matplotlib"}
    words = [light / "t2t-translate", folder]
    result = subprocess.run(words, input=LINES, text=True, capture_output=True, cwd=tmp_path)
    assert result.stdout.splitlines() == load_translator(folder).translate(FEW), result.stderr


@pytest.mark.parametrize(("longest", "padded"), [(None, 32), (20, 20), (40, 32)])
def test_a_source_is_padded_up_to_the_maximum_length_only(longest, padded):
    model = LiteRTModel({"encode": lambda source: {"source": source}}, {}, longest)
    (source,) = model.encoded(np.arange(1, 19))["source"]
    assert source.tolist() == [*range(1, 19), *[0] * (padded - 18)]
