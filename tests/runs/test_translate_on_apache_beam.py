import gzip
import threading

import pytest

pytest.importorskip("apache_beam")

from t2t_keras.runs import translate_on_apache_beam as beam_translate
from t2t_keras.runs.translate_on_apache_beam import (
    ExportHandler,
    TranslatedFile,
    translate_with_beam,
)
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
        TranslatedFile(path, tmp_path / "out" / path.name, {"lines": lines, **options})
        for path in sorted((tmp_path / "in").iterdir())
    ]
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


def test_a_failure_is_one_error_and_the_same_call_resumes(tmp_path, monkeypatch):
    write(tmp_path, text="a\nfail\n")
    with pytest.raises(ValueError, match=r"failed: OSError.*No space left.* Run the same command"):
        translate(tmp_path, lines=1)
    assert not (tmp_path / "out" / "text").exists()
    (first,) = (tmp_path / "out" / ".t2t-translate" / "text").glob("000000-*")
    first.write_text("from before\n")
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


COMMAND = {"export": "one", "lines": 2}
LINES = [b"a\n", b"\n", b"\xff\xfe\r\n", b"b\0\n", b"c"]


@pytest.fixture(params=["text", "text.gz"])
def source(request, tmp_path):
    path = tmp_path / "in" / request.param
    path.parent.mkdir()
    path.write_bytes(packed(path, b"".join(LINES)))
    return path


def packed(path, data):
    return gzip.compress(data) if path.suffix == ".gz" else data


def divided(source, **changes):
    return TranslatedFile(source, source.parent.parent / "out" / source.name, COMMAND | changes)


def translate_blocks(blocks):
    for block in blocks:
        block.write(b"".join(line.strip() + b"!\n" for line in block.read()))


def completed(source):
    file = divided(source)
    translate_blocks(file.blocks)
    file.join_if_complete()
    return file


def output(file):
    data = file.path.read_bytes()
    return gzip.decompress(data) if file.path.suffix == ".gz" else data


def names(file):
    return sorted(path.name for path in file.folder.iterdir())


def test_blocks_hold_all_lines_and_the_file_appears_with_the_last_one(source):
    file = divided(source)
    assert [block.read() for block in file.blocks] == [LINES[:2], LINES[2:4], LINES[4:]]
    assert [block.first for block in file.blocks] == [0, 2, 4]
    translate_blocks(file.blocks[1:])
    file.join_if_complete()
    assert file.missing() == file.blocks[:1] and not file.path.exists()
    translate_blocks(file.blocks[:1])
    file.join_if_complete()
    assert output(file) == b"a!\n!\n\xff\xfe!\nb\0!\nc!\n"
    assert file.is_complete and file.missing() == [] and names(file) == ["complete"]
    assert {path.name for path in file.path.parent.iterdir()} == {".t2t-translate", source.name}


def test_an_interrupted_file_keeps_its_blocks_and_is_completed_without_the_others(source):
    translate_blocks(divided(source).blocks[:1])
    resumed = divided(source)
    assert resumed.missing() == resumed.blocks[1:]
    translate_blocks(resumed.blocks)  # the first one twice
    assert divided(source).is_complete, "although it was killed before it joined the blocks"


def test_a_complete_file_is_not_translated_again(source, capsys):
    file = completed(source)
    before = file.path.read_bytes()
    file.blocks[0].output.write_bytes(b"left by a kill\n")
    again = divided(source)
    assert again.is_complete and again.missing() == [] and names(again) == ["complete"]
    assert file.path.read_bytes() == before and capsys.readouterr().err == ""


@pytest.mark.parametrize("change", ["input", "command", "no output"])
def test_a_file_is_translated_again_after_a_change(source, capsys, change):
    file = completed(source)
    if change == "input":
        source.write_bytes(packed(source, b"new\n"))
    elif change == "no output":
        file.path.unlink()
    again = divided(source, **({"export": "other"} if change == "command" else {}))
    reason = f"{file.path} is from a different command or a different input. Translating it again\n"
    assert capsys.readouterr().err == (reason if change != "no output" else "")
    assert again.missing() == again.blocks and not again.is_complete
    translate_blocks(again.blocks)
    again.join_if_complete()
    assert output(again).startswith(b"new!" if change == "input" else b"a!")


def test_a_damaged_file_is_refused_before_the_work(tmp_path):
    path = tmp_path / "in.gz"
    path.write_bytes(gzip.compress(b"a\nb\n")[:-4])
    with pytest.raises(ValueError, match=r"in.gz is compressed, but incomplete .* Download"):
        TranslatedFile(path, tmp_path / "out" / "in.gz", COMMAND)
