import os
import subprocess
import sys

import pytest

from pipelines.atomic_files import atomic_file, atomic_folder, locked_folder, read_json, write_json


def test_a_folder_gets_its_name_when_it_is_complete(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "folder") as unfinished:
        (unfinished / "file").write_text("half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
    # Two writers of the same folder do not disturb each other.
    with atomic_folder(tmp_path / "folder") as first, atomic_folder(tmp_path / "folder") as second:
        assert first != second
        for folder in (first, second):
            (folder / "file").write_text("contents")
        assert not (tmp_path / "folder").exists()
    assert (tmp_path / "folder" / "file").read_text() == "contents"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_is_replaced_when_it_is_complete(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    with atomic_file(link) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.parametrize("existing", ["", "a", "a/b"])
def test_an_error_before_the_first_file_leaves_a_locked_folder_as_it_was(tmp_path, existing):
    folder = tmp_path / "a" / "b"
    (tmp_path / existing).mkdir(parents=True, exist_ok=True)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="mistake"), locked_folder(folder):
        assert (folder / ".lock").exists()
        raise ValueError("mistake")
    assert set(tmp_path.rglob("*")) == before
    with pytest.raises(ValueError, match="mistake"), locked_folder(folder):
        (folder / "file").touch()
        raise ValueError("mistake")
    assert {path.name for path in folder.iterdir()} == {".lock", "file"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_the_error_of_a_full_disk_names_the_file_or_the_folder(tmp_path):
    for name, context in {
        "/dev/full": atomic_file("/dev/full"),
        str(tmp_path / "a"): atomic_folder(tmp_path / "a"),
        str(tmp_path): locked_folder(tmp_path),
    }.items():
        full = pytest.raises(OSError, match="No space left on device")
        with full as raised, context, open("/dev/full", "wb", buffering=0) as file:
            file.write(b"text")
        assert raised.value.filename == name


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    for path in (tmp_path, tmp_path / "none" / "file"):
        with pytest.raises(OSError, match="directory"), atomic_file(path):
            raise AssertionError("the work has begun")
    with atomic_file(tmp_path / "file") as file:
        file.write(b"first")
        refused = pytest.raises(ValueError, match="by a different process")
        with refused, atomic_file(tmp_path / "file"):
            raise AssertionError("the work has begun")
    assert (tmp_path / "file").read_text() == "first"


def test_a_pipe_is_written_directly():
    reader, writer = os.pipe()
    with atomic_file(f"/dev/fd/{writer}") as file:
        file.write(b"contents")
    assert os.read(reader, 100) == b"contents"
    for descriptor in (reader, writer):
        os.close(descriptor)


def test_json_files_are_read_back_and_a_changed_value_does_not_match_the_checksum(tmp_path):
    path = tmp_path / "file.json"
    assert read_json(path, absent={}) == {}
    write_json(path, {"a": (1, 2.5), 3: "ü"})
    assert read_json(path) == {"a": [1, 2.5], "3": "ü"}
    assert [file.name for file in tmp_path.iterdir()] == ["file.json"]
    path.write_text(path.read_text().replace("2.5", "2.7"))
    with pytest.raises(ValueError, match="do not match its checksum"):
        read_json(path)
    path.write_text('{"a": 3}')  # without a checksum, as an earlier version wrote it
    assert read_json(path) == {"a": 3}


@pytest.mark.parametrize("text", ['{"a": ', "[1]", "[" * 100_000])
def test_json_that_is_no_object_is_refused(tmp_path, text):
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(ValueError, match=r"file.json is damaged .* Delete it"):
        read_json(tmp_path / "file.json")


def test_a_second_process_is_refused_until_the_first_one_dies(tmp_path):
    code = f"""
from pipelines.atomic_files import locked_folder
with locked_folder({str(tmp_path)!r}):
    print("locked", flush=True)
    input()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, **pipes) as process:
        assert process.stdout.readline() == b"locked\n"
        refused = pytest.raises(ValueError, match=rf"in use by process {process.pid}. Wait")
        with refused, locked_folder(tmp_path):
            pass
        process.kill()
    with locked_folder(tmp_path):
        pass
