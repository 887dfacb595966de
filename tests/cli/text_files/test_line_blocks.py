"""An interrupted output is resumed by the same command with the same input, to the same bytes."""

import gzip
import io
import os

import pytest

from t2t_keras.cli.text_files.line_blocks import is_resumable, line_count, opened_output

COMMAND = {"search": {"banned": (1, 2)}, "prefix": None}
BLOCKS = [b"a\nb\n", b"c\n", b"d"]
OUTPUT = b"A\nB\nC\nD"


class Killed(Exception):
    pass


def write(path, blocks=BLOCKS, command=COMMAND, killed_after=None):
    """Writes a file of upper-case blocks; returns the blocks that were not kept."""
    made = []
    try:
        with opened_output(path, command) as output:
            for index, block in enumerate(blocks):
                if index == killed_after:
                    raise Killed
                if output(block, block.upper):
                    made.append(block)
    except Killed:
        pass
    return made


@pytest.fixture
def interrupted(tmp_path):
    """The path of an output that was interrupted after two of three blocks."""
    path = tmp_path / "out"
    path.write_bytes(b"earlier contents")
    path.chmod(0o640)
    assert write(path, killed_after=2) == BLOCKS[:2]
    assert path.read_bytes() == b"earlier contents"
    return path


def unfinished(path):
    return sorted(path.with_name("out.unfinished").glob("[0-9]*"))


def test_a_complete_output_replaces_the_file_or_the_target_of_a_link_and_leaves_no_other(tmp_path):
    (tmp_path / "out").write_bytes(b"earlier contents")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for path in (tmp_path / "out", tmp_path / "link"):
        assert write(path) == BLOCKS, "nothing is kept of a finished output"
        assert (tmp_path / "out").read_bytes() == OUTPUT
    assert {path.name for path in tmp_path.iterdir()} == {"out", "link"}
    assert (tmp_path / "link").is_symlink()


def test_the_same_command_resumes_after_the_last_block(interrupted, capsys):
    assert write(interrupted, killed_after=2) == []
    assert b"".join(path.read_bytes() for path in unfinished(interrupted)) == OUTPUT[:6]
    assert write(interrupted) == BLOCKS[2:]
    assert interrupted.read_bytes() == OUTPUT and interrupted.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in interrupted.parent.iterdir()] == ["out"]
    assert capsys.readouterr().err == ""


def test_a_compressed_output_is_resumed_after_the_last_block(tmp_path):
    path = tmp_path / "out.gz"
    assert write(path, killed_after=2) == BLOCKS[:2]
    assert write(path) == BLOCKS[2:]
    assert gzip.decompress(path.read_bytes()) == OUTPUT
    assert write(path, []) == []
    assert gzip.decompress(path.read_bytes()) == b""


def test_outputs_that_cannot_be_written_are_refused_and_leave_no_file(tmp_path):
    with pytest.raises(ValueError, match=r"names in .gz, .bz2, .xz only. Received: .*out\.zst"):
        write(tmp_path / "out.zst")
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "none" / "out")
    assert write(tmp_path / "out", killed_after=0) == []
    assert not list(tmp_path.iterdir()), "nor after an error before the first block"


def test_a_different_command_starts_over(interrupted, capsys):
    assert write(interrupted, command=COMMAND | {"prefix": "a"}, killed_after=1) == BLOCKS[:1]
    assert "is from a different command or a different input" in capsys.readouterr().err
    assert len(unfinished(interrupted)) == 1
    assert write(interrupted) == BLOCKS and interrupted.read_bytes() == OUTPUT


def test_a_different_input_is_resumed_after_the_blocks_that_are_equal(interrupted, capsys):
    blocks = [BLOCKS[0], b"C\n", b"d"]
    assert write(interrupted, blocks) == blocks[1:]
    assert "is from a different command or a different input" in capsys.readouterr().err
    assert interrupted.read_bytes() == OUTPUT


def test_a_shorter_input_has_a_shorter_output(interrupted):
    assert write(interrupted, BLOCKS[:1]) == []
    assert interrupted.read_bytes() == b"A\nB\n"


def test_two_processes_do_not_write_the_same_file(interrupted):
    with (
        opened_output(interrupted, COMMAND),
        pytest.raises(ValueError, match="is in use by process"),
        opened_output(interrupted, COMMAND),
    ):
        pass


def test_pipes_and_devices_are_not_resumable(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert is_resumable(tmp_path / "new") and not is_resumable(tmp_path / "pipe")
    assert not is_resumable("/dev/stdout") and not is_resumable(tmp_path)


@pytest.mark.parametrize("text", [b"", b"x", b"x\n\n", b"\n" * 7 + b"y\r\nlast", b"a\rb"])
def test_lines_are_counted_and_can_be_read_again_from_the_same_place(text):
    source = io.BytesIO(b"read already\n" + text)
    source.readline()
    assert line_count(source) == len(list(io.BytesIO(text))) == len(source.readlines())
    source.seekable = lambda: False
    assert line_count(source) is None


def test_a_users_own_files_beside_the_blocks_stay(tmp_path):
    (tmp_path / "out.unfinished").mkdir()
    (tmp_path / "out.unfinished" / "diary").write_text("mine")
    assert write(tmp_path / "out") == BLOCKS and (tmp_path / "out").read_bytes() == OUTPUT
    assert [path.name for path in (tmp_path / "out.unfinished").iterdir()] == ["diary"]
