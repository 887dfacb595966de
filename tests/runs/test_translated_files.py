import gzip

import pytest

from t2t_keras.runs.translated_files import TranslatedFile

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


def begun(source, **changes):
    file = TranslatedFile(source, source.parent.parent / "out" / source.name)
    file.begin(COMMAND | changes)
    return file


def translate(blocks):
    for block in blocks:
        block.write(b"".join(line.strip() + b"!\n" for line in block.read()))


def output(file):
    data = file.path.read_bytes()
    return gzip.decompress(data) if file.path.suffix == ".gz" else data


def names(file):
    return sorted(path.name for path in file.progress.iterdir())


def test_blocks_hold_all_lines_and_the_file_appears_with_the_last_one(source):
    file = begun(source)
    assert [block.read() for block in file.blocks] == [LINES[:2], LINES[2:4], LINES[4:]]
    assert [block.first for block in file.blocks] == [0, 2, 4]
    translate(file.blocks[1:])
    file.join()
    assert file.missing() == file.blocks[:1] and not file.path.exists()
    translate(file.blocks[:1])
    file.join()
    assert output(file) == b"a!\n!\n\xff\xfe!\nb\0!\nc!\n"
    assert file.is_complete and file.missing() == [] and names(file) == ["record.json"]
    assert {path.name for path in file.path.parent.iterdir()} == {".t2t-translate", source.name}


def test_an_interrupted_file_keeps_its_blocks_and_is_completed_without_the_others(source):
    translate(begun(source).blocks[:1])
    (begun(source).progress / "lines-2.0123.unfinished").write_bytes(b"b")
    resumed = begun(source)
    assert resumed.missing() == resumed.blocks[1:]
    assert names(resumed) == ["lines-0", "record.json"]
    translate(resumed.blocks)  # the first one twice
    assert begun(source).is_complete, "although it was killed before it joined the blocks"


def test_a_complete_file_is_not_translated_again(source, capsys):
    file = begun(source)
    translate(file.blocks)
    file.join()
    before = file.path.read_bytes()
    (file.progress / "lines-0").write_bytes(b"left by a kill\n")
    again = begun(source)
    assert again.is_complete and again.missing() == [] and names(again) == ["record.json"]
    again.join()
    assert file.path.read_bytes() == before and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("input", "is from a different command or a different input"),
        ("command", "is from a different command or a different input"),
        ("output", "is missing or was changed"),
        ("no output", "is missing or was changed"),
    ],
)
def test_a_file_is_translated_again_after_a_change(source, capsys, change, reason):
    file = begun(source)
    translate(file.blocks)
    file.join()
    if change == "input":
        source.write_bytes(packed(source, b"new\n"))
    elif change == "output":
        file.path.write_bytes(b"other")
    elif change == "no output":
        file.path.unlink()
    again = begun(source, **({"export": "other"} if change == "command" else {}))
    assert capsys.readouterr().err == f"{file.path} {reason}. Translating it again\n"
    assert again.missing() == again.blocks and not again.is_complete
    translate(again.blocks)
    again.join()
    assert output(again).startswith(b"new!" if change == "input" else b"a!")


def test_an_empty_file_is_complete_without_translation(source):
    source.write_bytes(packed(source, b""))
    file = begun(source)
    assert file.is_complete and output(file) == b""


def test_a_damaged_file_is_refused_before_the_work(tmp_path):
    path = tmp_path / "in.gz"
    path.write_bytes(gzip.compress(b"a\nb\n")[:-4])
    with pytest.raises(ValueError, match=r"in.gz is compressed, but incomplete .* Download"):
        TranslatedFile(path, tmp_path / "out" / "in.gz").begin(COMMAND)
