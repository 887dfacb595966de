"""A model for LiteRT as an engine: it translates as the run does, or says why it cannot."""

import functools
import json
import os
import shutil
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest
from support.processes.commands import ROOT

from pipelines.atomic_files import read_json, write_json
from pipelines.toy.grammar import pairs
from t2t_keras.decoding.rows import Rows
from t2t_keras.export.formats import LITERT_MODEL, LITERT_RECORD
from t2t_keras.serving.served_models import load_model
from t2t_keras.translating.engines.litert import LiteRTEngine
from t2t_keras.translating.export_folders import find_export
from t2t_keras.translating.find import is_export, load_translator, needs_tensorflow
from t2t_keras.translating.request import Request
from t2t_keras.translating.translator import Translator

pytestmark = pytest.mark.long
FEW = ["The dog sleeps.", "The cats see the old house.", ""]
TEXTS = [*(english for english, _ in pairs(60)), "", "Ｗｉｄｅ \x07\u00a0 A\u0301", "dog " * 1100]


@pytest.fixture(scope="module")
def folder(sharp_run, tmp_path_factory):
    path = tmp_path_factory.mktemp("engine") / "litert"
    return sharp_run.export(path, "litert", extra_length=9)


@pytest.fixture
def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "litert")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam": 1},
        {"beam": 3, "n_best": 2},
        {"beam": 1, "no_repeat_ngram": 2},
        {"alpha": 0.1, "n_best": 4, "early_stopping": False},
        {"penalty": "marian", "extra_length": 2},
        {"banned": [" das"], "first": [" die", " ein"]},
        {"method": "sample", "temperature": 0.5, "seed": 3},
        {"method": "sample", "n_best": 4, "top_k": 9},
        {"prefixes": ["Der Hund", ""] * 31 + ["x"]},
        {"glossary": {"dog": "Wauwau", "dogs": "guten Hunde"}},
    ],
)
def test_translations_are_those_of_the_run(sharp_run, folder, options):
    expected = sharp_run.translator(extra_length=9).translations(TEXTS, **options)
    found = load_translator(folder).translations(TEXTS, **options)
    assert [[e.text for e in row] for row in found] == [[e.text for e in row] for row in expected]
    scores = [[each.score for row in rows for each in row] for rows in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4)


def test_results_do_not_depend_on_company_and_order(folder):
    translator = load_translator(folder)
    together = translator.translations(TEXTS, n_best=4)
    for index in (3, 17, 40, 61):
        (alone,) = load_translator(folder).translations([TEXTS[index]], n_best=4)
        assert [each.text for each in alone] == [each.text for each in together[index]]
        for ours, theirs in zip(alone, together[index], strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-4)
    again = translator.translations(TEXTS[::-1], n_best=4)[::-1]
    assert [[e.text for e in row] for row in again] == [[e.text for e in row] for row in together]


def test_results_do_not_depend_on_the_threads_of_a_step(folder):
    engines = [LiteRTEngine(folder, threads) for threads in (1, 2, 3)]
    assert [len(engine.models) for engine in engines] == [1, 2, 2]
    rows = [Translator(engine).translations(TEXTS, n_best=4) for engine in engines]
    assert [[(e.text, e.score) for e in each] for each in rows[0]] == [
        [(e.text, e.score) for e in each] for each in rows[1]
    ]
    assert [[e.text for e in each] for each in rows[2]] == [
        [e.text for e in each] for each in rows[0]
    ]


def test_threads_share_an_engine(folder):
    translator = load_translator(folder)
    asked = [Request(text, beam=beam) for text in TEXTS[:20] for beam in (1, 2, 4)]
    expected, found = translator.translate(asked), {}

    def work(name):
        found[name] = translator.translate(asked)

    threads = [threading.Thread(target=work, args=[name]) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[name] for name in range(4)] == [expected] * 4


def test_log_p_and_attention_are_those_of_the_run(sharp_run, folder):
    theirs, ours = sharp_run.engine(), LiteRTEngine(folder)
    source = np.array([[9, 8, 7, 2, 0], [5, 2, 0, 0, 0]], "int32")
    target = np.array([[6, 5, 2], [7, 2, 0]], "int32")
    np.testing.assert_allclose(ours.log_p(source, target), theirs.log_p(source, target), atol=1e-4)
    found, expected = ours.attention(source, target), theirs.attention(source, target)
    for row, (written, read) in enumerate([(3, 4), (2, 2)]):
        np.testing.assert_allclose(
            found[row, :written, :read], expected[row, :written, :read], atol=1e-5
        )
    assert ours.attention(source[:0], target[:0]).shape == (0, 3, 5)


def test_commands_and_programs_load_neither_tensorflow_nor_keras(
    folder, without_backends, tmp_path
):
    lines = "".join(f"{text}\n" for text in TEXTS[:4])
    expected = load_translator(folder).translate(TEXTS[:4], beam=3)
    words = [sys.executable, "-m", "t2t_keras.cli.translate", str(folder), "--beam=3"]
    result = subprocess.run(words, input=lines, **without_backends)
    assert result.stdout.splitlines() == expected, result.stderr
    assert "XNNPACK" not in result.stderr, "LiteRT's notes are held back"
    (tmp_path / "source").write_text(lines)
    files = [f"--{name}={tmp_path / 'source'}" for name in ("source", "reference")]
    words = [sys.executable, "-m", "t2t_keras.cli.evaluate", str(folder), *files]
    result = subprocess.run(words, **without_backends)
    assert result.stdout.startswith("BLEU"), result.stderr
    program = f"""
import sys
sys.modules["keras"] = sys.modules["tensorflow"] = None
from t2t_keras.translating.find import load_translator
print(load_translator({str(folder.parent)!r}).translate(["The dog sleeps."], confidence=True)[0])
"""
    result = subprocess.run([sys.executable, "-c", program], **without_backends)
    assert result.stdout.strip() == load_translator(folder).translate(["The dog sleeps."])[0]


def test_the_newest_version_counts_whatever_its_format(copied):
    versions = copied.parent / "versions"
    shutil.copytree(copied, versions / "2")
    (versions / "9").mkdir()
    (versions / "9" / "saved_model.pb").touch()
    assert needs_tensorflow(versions)
    (versions / "9").rename(versions / "1")
    assert not needs_tensorflow(versions)


def test_a_portable_export_is_a_file_and_its_vocabulary(sharp_run, tmp_path):
    path = sharp_run.export(tmp_path, "litert", portable=True, beam=2)
    names = {each.name for each in path.iterdir()}
    assert names == {"portable.tflite", "portable.json", "vocabulary"}
    record = read_json(path / "portable.json")
    assert record["search"]["beam"] == 2 and "portable.tflite" in record["files"]
    assert not is_export(tmp_path), "the commands take it for no model of theirs"


def test_it_is_found_by_the_folder_of_its_versions(folder, tmp_path):
    assert find_export(folder) == folder == find_export(folder.parent)
    assert is_export(folder.parent) and not needs_tensorflow(folder.parent)
    assert find_export(tmp_path) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 5}, r"`beam` must be at most 4, .* export it again with .* --beam=5"),
        ({"constrain": "tree"}, "--constrain does not work with LiteRT"),
        ({"method": "sample", "n_best": 3}, "LiteRT draws 1 or 4 samples .* n_best=3"),
        ({"beam": 2, "require": [["Hund"]]}, "with the exported beam width, 4. Received: beam=2"),
        ({"n_best": 5}, "`n_best` must be at most the beam width, beam=4"),
    ],
)
def test_what_it_cannot_do_is_refused(folder, options, message):
    with pytest.raises(ValueError, match=message):
        load_translator(folder).translations(["The dog"], **options)


def test_without_litert_the_error_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(ValueError, match="pip install ai-edge-litert"):
        LiteRTEngine(folder)


def flip(folder):
    contents = bytearray((folder / LITERT_MODEL).read_bytes())
    contents[len(contents) // 2] ^= 1
    (folder / LITERT_MODEL).write_bytes(contents)


def other_vocabulary(folder):
    path = next((folder / "vocabulary").glob("*.model"))
    path.write_bytes(path.read_bytes() + b"\0")


def future(folder):
    record = read_json(folder / LITERT_RECORD)
    record["search"]["unknown"] = 1
    write_json(folder / LITERT_RECORD, record)


def wider(folder):
    record = read_json(folder / LITERT_RECORD)
    record["search"]["beam"] = 8
    write_json(folder / LITERT_RECORD, record)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (flip, "model.tflite does not match its SHA-256"),
        (lambda folder: os.truncate(folder / LITERT_MODEL, 100), "model.tflite does not match"),
        (other_vocabulary, r"vocabulary/\w+.model does not match its SHA-256"),
        (lambda folder: (folder / LITERT_RECORD).unlink(), "it has no litert.json"),
        (lambda folder: (folder / LITERT_RECORD).write_text("{}"), "written by an earlier version"),
        (wider, "model.tflite does not have the programs of litert.json"),
        (future, "unexpected keyword argument 'unknown'"),
    ],
)
def test_a_damaged_folder_is_refused_by_name(copied, damage, message):
    damage(copied)
    with pytest.raises(ValueError, match=f"{message}.*xport the run again with t2t-export"):
        LiteRTEngine(copied)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("longest", ""),
        ("longest", True),
        ("split", []),
        ("tags", [[None]]),
        ("tag", 3),
        ("layout.caches", 3),
        ("layout.caches.4.cache_0", [True, [None, "x"], "float32"]),
        ("layout.kept", True),
        ("layout.attention.encoder", 3),
        ("alignment", {"layer": 99}),
        ("alignment", 5),
    ],
)
def test_a_crafted_record_is_refused_in_one_line(copied, name, value):
    record = read_json(copied / LITERT_RECORD)
    *outer, last = name.split(".")
    functools.reduce(dict.__getitem__, outer, record)[last] = value
    write_json(copied / LITERT_RECORD, record)
    with pytest.raises(ValueError, match="xport the run again") as error:
        LiteRTEngine(copied)
    assert "\n" not in str(error.value)


def test_a_file_that_is_changed_in_place_does_not_harm_a_loaded_model(copied):
    translator = load_translator(copied)
    expected = translator.translate(FEW)
    os.truncate(copied / LITERT_MODEL, 0)
    assert translator.translate(FEW) == expected


def test_500_changed_bytes_give_an_error_or_the_same_translations(copied):
    """The library cannot survive every flatbuffer, so the digests are compared first."""
    random, files = np.random.default_rng(0), [path for path in copied.rglob("*") if path.is_file()]
    expected, refused = load_translator(copied).translate(FEW), 0
    for _ in range(500):
        path = files[random.integers(len(files))]
        contents = bytearray(path.read_bytes())
        before = bytes(contents)
        contents[random.integers(len(contents))] ^= 1 << int(random.integers(8))
        path.write_bytes(contents)
        try:
            translator = load_translator(copied)
        except ValueError as error:
            refused += 1
            assert "\n" not in str(error) and str(copied) in str(error)
        else:
            assert translator.translate(FEW) == expected
        path.write_bytes(before)
    assert refused > 480


def test_a_row_of_padding_does_not_disturb_others(folder):
    engine = LiteRTEngine(folder)
    ids = np.array([[0, 0, 0], [9, 8, 2]], "int32")
    together, alone = engine.search(Rows(ids, [0, 1])), engine.search(Rows(ids[1:], [1]))
    length = alone.tokens.shape[2]
    np.testing.assert_array_equal(together.tokens[1, :, :length], alone.tokens[0])
    np.testing.assert_allclose(together.scores[1], alone.scores[0], atol=1e-5)


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    """The folder of the commands in an environment that a line of a README makes."""
    folder = tmp_path_factory.mktemp("light")
    readme = (ROOT / "t2t_keras/serving/README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if "light/bin/pip install" in line)
    line = line.replace("python3 ", f"{sys.executable} ").replace("install .", f"install {ROOT}")
    subprocess.run(["bash", "-euc", line], check=True, cwd=folder, capture_output=True)
    return folder / "light" / "bin"


def test_the_environment_has_neither_tensorflow_nor_keras(light):
    words = [light / "pip", "list", "--format=json"]
    listed = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    names = {each["name"].lower() for each in listed}
    assert "t2t-keras" in names
    assert not names & {"tensorflow", "tensorflow-text", "keras", "jax", "matplotlib"}


def test_it_translates_on_the_command_line_and_in_python(light, folder):
    expected = load_translator(folder).translate(FEW)
    lines = "".join(f"{text}\n" for text in FEW)
    words = [light / "t2t-translate", folder.parent]
    result = subprocess.run(words, input=lines, text=True, capture_output=True, cwd=light)
    assert result.stdout.splitlines() == expected, result.stderr
    program = f"""
from t2t_keras.translating.find import load_translator
options = {{"markup": "html", "glossary": {{"dog": "Wauwau"}}, "confidence": True, "n_best": 2}}
((best, _),) = load_translator({str(folder)!r}).translations(["The <b>dog</b> sleeps."], **options)
assert "Wauwau" in best.text and len(best.confidence) > 1
"""
    subprocess.run([light / "python", "-c", program], check=True, cwd=light)


def test_it_serves(light, folder):
    words = [light / "t2t-serve", folder.parent, "--port=0", "--name=toy"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=light) as server:
        try:
            line = server.stdout.readline()
            assert "version 1, is served at http" in line
            address = f"{line.split()[-1]}v1/models/toy:predict"
            data = json.dumps({"inputs": {"text": FEW}}).encode()
            headers = {"Content-Type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(address, data, headers)) as answer:
                found = json.load(answer)["outputs"]["translations"]
            assert found == load_translator(folder).translate(FEW)
        finally:
            server.terminate()


def test_a_server_loads_each_version_of_a_folder_in_its_format(folder):
    model = load_model(folder)
    assert model.metadata["serving_default"] and model.translations.translator.engine.width == 4
    with pytest.raises(ValueError, match=r"saved_model\.pb"):
        load_model(folder.parent)
