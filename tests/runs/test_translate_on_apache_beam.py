import gzip
import threading

import pytest

pytest.importorskip("apache_beam")

from t2t_keras.runs import translate_on_apache_beam as beam_translate
from t2t_keras.runs.translate_on_apache_beam import ExportHandler, translate_with_beam
from t2t_keras.runs.translated_files import TranslatedFile
from t2t_keras.translating.translator import Translation

# Beam's local runner warns about missing packages.
pytestmark = pytest.mark.filterwarnings("ignore")
LOCAL = ["--runner=FnApiRunner"]  # the default looks for a newer one first


class UpperCase:
    """Stands in for a `Translator`: the best translation of a text is that text in capitals."""

    loaded = []

    def __init__(self, *arguments):
        self.loaded.append(arguments)

    def translations(self, texts, first_index, n_best):
        if "fail" in texts:
            raise OSError(28, "No space left on device")
        return [
            [Translation(text.upper(), -index, []), Translation("second", -9.0, [])][:n_best]
            for index, text in enumerate(texts, first_index)
        ]


def formatted(texts, results):
    lines = [
        f"{text} {each.text} {each.score}\n"
        for text, translations in zip(texts, results, strict=True)
        for each in translations
    ]
    return "".join(lines).encode()


@pytest.fixture(autouse=True)
def upper_case(monkeypatch):
    UpperCase.loaded.clear()
    monkeypatch.setattr(beam_translate, "load_translator", UpperCase)


def translate(tmp_path, lines=2, **options):
    options = {"n_best": 1, **options}
    files = [
        TranslatedFile(path, tmp_path / "out" / path.name)
        for path in sorted((tmp_path / "in").iterdir())
    ]
    for file in files:
        file.begin({"lines": lines, **options})
    translate_with_beam(files, ExportHandler("export", "de", options, formatted), LOCAL)


def write(tmp_path, **texts):
    (tmp_path / "in").mkdir()
    for name, text in texts.items():
        (tmp_path / "in" / name).write_text(text)


def test_files_are_translated_block_by_block_by_a_model_that_is_loaded_once(tmp_path):
    write(tmp_path, first="\ufeffa\nb\n\nc d\ne", second="f\n", empty="")
    (tmp_path / "in" / "third.gz").write_bytes(gzip.compress(b"g\n\xff\n\xef\xbb\xbfh\n"))
    translate(tmp_path)
    out = tmp_path / "out"
    assert (out / "first").read_text() == "a A 0\nb B -1\n  -2\nc d C D -3\ne E -4\n"
    assert (out / "second").read_text() == "f F 0\n"
    assert (out / "empty").read_text() == ""
    third = gzip.decompress((out / "third.gz").read_bytes()).decode()
    assert third == "g G 0\n\ufffd \ufffd -1\n\ufeffh \ufeffH -2\n", "a mark only begins a file"
    translate(tmp_path)
    assert UpperCase.loaded == [("export", "de")], "complete files need no model"


def test_each_line_is_translated_with_the_options_of_the_handler(tmp_path, monkeypatch):
    given = []

    def translated(self, texts, first_index, **options):
        given.append(options)
        return [[Translation("x", 0.0, [])]]

    monkeypatch.setattr(UpperCase, "translations", translated)
    write(tmp_path, text="A dog\n")
    options = {"n_best": 2, "split": "auto", "glossary": {"dog": "Hund"}}
    translate(tmp_path, **options)
    assert given == [options]


def test_a_failure_is_one_error_and_the_same_call_resumes(tmp_path, monkeypatch):
    write(tmp_path, text="a\nfail\n")
    with pytest.raises(ValueError, match=r"failed: OSError.*No space left.* Run the same command"):
        translate(tmp_path, lines=1)
    assert not (tmp_path / "out" / "text").exists()
    (tmp_path / "out" / ".t2t-translate" / "text" / "lines-0").write_text("from before\n")
    monkeypatch.setattr(
        UpperCase, "translations", lambda *_, **options: [[Translation("b", 0.0, [])]]
    )
    translate(tmp_path, lines=1)
    assert (tmp_path / "out" / "text").read_text() == "from before\nfail b 0.0\n"


def test_a_file_appears_while_others_are_translated(tmp_path, monkeypatch):
    write(tmp_path, first="a\n", second="b\n")
    monkeypatch.setattr(beam_translate, "POLL", 0.01)
    join, appeared, begun, seen = beam_translate.join, threading.Event(), [], []

    def joined(files):
        missing = join(files)
        if any(file.path.exists() for file in files):
            appeared.set()
        return missing

    def slow(self, texts, first_index, n_best):
        begun.extend(texts)
        if len(begun) == 2:  # the file of the other text has all its blocks
            seen.append(appeared.wait(20))
        return [[Translation("x", 0.0, [])]]

    monkeypatch.setattr(beam_translate, "join", joined)
    monkeypatch.setattr(UpperCase, "translations", slow)
    translate(tmp_path)
    assert seen == [True]
