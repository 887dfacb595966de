import gzip
import time

import pytest

pytest.importorskip("apache_beam")

from t2t_keras.runs import beam_translate
from t2t_keras.runs.beam_translate import ExportHandler, translate_with_beam
from t2t_keras.runs.translated_files import TranslatedFile
from t2t_keras.translating.translator import Translation

# Beam's local runner warns about missing packages.
pytestmark = pytest.mark.filterwarnings("ignore")
LOCAL = ["--runner=FnApiRunner"]  # the default looks for a newer one first


class UpperCase:
    """Stands in for an `Export`: its two translations of a text are that text in capitals."""

    loaded = []

    def __init__(self, folder):
        self.loaded.append(folder)

    def translate(self, texts, split, n_best):
        if "fail" in texts:
            raise OSError(28, "No space left on device")
        counts = [len(split(text)[0]) for text in texts]
        return [
            [Translation(text.upper(), -count, []), Translation("second", -9.0, [])][:n_best]
            for text, count in zip(texts, counts, strict=True)
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
    monkeypatch.setattr(beam_translate, "Export", UpperCase)


def translate(tmp_path, lines=2, n_best=1, split="off"):
    files = [
        TranslatedFile(path, tmp_path / "out" / path.name)
        for path in sorted((tmp_path / "in").iterdir())
    ]
    for file in files:
        file.begin({"lines": lines, "n_best": n_best, "split": split})
    translate_with_beam(files, ExportHandler("export", n_best, split, formatted), LOCAL)


def write(tmp_path, **texts):
    (tmp_path / "in").mkdir()
    for name, text in texts.items():
        (tmp_path / "in" / name).write_text(text)


def test_files_are_translated_block_by_block_by_a_model_that_is_loaded_once(tmp_path):
    write(tmp_path, first="\ufeffa\nb\n\nc d\ne", second="f\n", empty="")
    (tmp_path / "in" / "third.gz").write_bytes(gzip.compress(b"g\n\xff\n\xef\xbb\xbfh\n"))
    translate(tmp_path)
    out = tmp_path / "out"
    assert (out / "first").read_text() == "a A -1\nb B -1\n  -1\nc d C D -1\ne E -1\n"
    assert (out / "second").read_text() == "f F -1\n"
    assert (out / "empty").read_text() == ""
    third = gzip.decompress((out / "third.gz").read_bytes()).decode()
    assert third == "g G -1\n\ufffd \ufffd -1\n\ufeffh \ufeffH -1\n", "a mark only begins a file"
    assert UpperCase.loaded == ["export"]


def test_n_best_and_splitting_are_the_handler_s(tmp_path):
    write(tmp_path, text="One dog sleeps. Two cats sleep.\n")
    translate(tmp_path, n_best=2, split="auto")
    line = "One dog sleeps. Two cats sleep."
    expected = f"{line} {line.upper()} -2\n{line} second -9.0\n"
    assert (tmp_path / "out" / "text").read_text() == expected


def test_a_failure_is_one_error_and_the_same_call_resumes(tmp_path, monkeypatch):
    write(tmp_path, text="a\nfail\n")
    with pytest.raises(ValueError, match=r"failed: OSError.*No space left.* Run the same command"):
        translate(tmp_path, lines=1)
    assert not (tmp_path / "out" / "text").exists()
    (tmp_path / "out" / ".t2t-translate" / "text" / "lines-0").write_text("from before\n")
    monkeypatch.setattr(UpperCase, "translate", lambda *_, **options: [[Translation("b", 0.0, [])]])
    translate(tmp_path, lines=1)
    assert (tmp_path / "out" / "text").read_text() == "from before\nfail b 0.0\n"


def test_a_file_appears_while_others_are_translated(tmp_path, monkeypatch):
    write(tmp_path, first="a\n", second="b\n")
    monkeypatch.setattr(beam_translate, "POLL", 0.01)
    begun, seen = [], []

    def slow(self, texts, split, n_best):
        begun.extend(texts)
        if len(begun) == 2:  # the file of the other text has all its blocks
            other = tmp_path / "out" / {"a": "first", "b": "second"}[begun[0]]
            end = time.monotonic() + 20
            while not other.exists() and time.monotonic() < end:
                time.sleep(0.01)
            seen.append(other.exists())
        return [[Translation("x", 0.0, [])]]

    monkeypatch.setattr(UpperCase, "translate", slow)
    translate(tmp_path)
    assert seen == [True]


def test_nothing_is_loaded_if_all_files_are_complete(tmp_path):
    write(tmp_path, text="a\n")
    translate(tmp_path)
    translate(tmp_path)
    assert UpperCase.loaded == ["export"]
