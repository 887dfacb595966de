"""An interrupted output is resumed by the same command with the same input, to the same bytes."""

import gzip
import os

import pytest

from t2t_keras.cli.text_files.resumable_output import ResumableOutput, is_resumable

COMMAND = {"search": {"banned": (1, 2)}, "prefix": None}
BLOCKS = [b"a\nb\n", b"c\n", b"d"]
OUTPUT = b"A\nB\nC\nD"


class Killed(Exception):
    pass


def write(path, blocks=BLOCKS, command=COMMAND, killed_after=None):
    """Writes a file of upper-case blocks; returns the blocks that were not kept."""
    made = []
    try:
        with ResumableOutput(path) as output:
            output.begin(command)
            for index, block in enumerate(blocks):
                if index == killed_after:
                    raise Killed
                if not output.keep(block):
                    made.append(block)
                    output.add(block, block.upper())
    except Killed:
        pass
    return made


@pytest.fixture
def interrupted(tmp_path):
    """The path of an output that was interrupted after two of three blocks."""
    path = tmp_path / "out"
    path.write_bytes(b"earlier contents")
    assert write(path, killed_after=2) == BLOCKS[:2]
    assert path.read_bytes() == b"earlier contents"
    return path


def unfinished(path, suffix=""):
    return path.with_name(f"out.unfinished{suffix}")


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
    assert write(interrupted) == BLOCKS[2:]
    assert interrupted.read_bytes() == OUTPUT
    assert [path.name for path in interrupted.parent.iterdir()] == ["out"]
    assert capsys.readouterr().err == ""


def test_a_compressed_output_is_resumed_after_the_last_block(tmp_path):
    path = tmp_path / "out.gz"
    assert write(path, killed_after=2) == BLOCKS[:2]
    assert write(path) == BLOCKS[2:]
    assert gzip.decompress(path.read_bytes()) == OUTPUT
    assert write(path, []) == []
    assert gzip.decompress(path.read_bytes()) == b""


def test_kinds_of_compression_that_are_not_written_are_refused_and_leave_no_file(tmp_path):
    with pytest.raises(ValueError, match=r"names in .gz, .bz2, .xz only. Received: .*out\.zst"):
        write(tmp_path / "out.zst")
    assert write(tmp_path / "out", killed_after=0) == []
    assert not list(tmp_path.iterdir()), "nor after an error before the first block"


@pytest.mark.parametrize("command", [{"search": {"banned": [1]}, "prefix": None}, COMMAND])
def test_a_different_command_starts_over(interrupted, capsys, command):
    assert write(interrupted, command=command, killed_after=0) == []
    assert write(interrupted, command={"prefix": "a", "search": None}) == BLOCKS
    assert "is from a different command (changed: prefix, search)" in capsys.readouterr().err
    assert interrupted.read_bytes() == OUTPUT


def test_a_different_input_is_resumed_after_the_blocks_that_are_equal(interrupted, capsys):
    blocks = [BLOCKS[0], b"C\n", b"d"]
    assert write(interrupted, blocks) == blocks[1:]
    assert "from a different input after byte 4. Resuming there" in capsys.readouterr().err
    assert interrupted.read_bytes() == OUTPUT


def test_a_shorter_input_has_a_shorter_output(interrupted):
    assert write(interrupted, BLOCKS[:1]) == []
    assert interrupted.read_bytes() == b"A\nB\n"


@pytest.mark.parametrize(("lost", "resumed_at"), [(1, 1), (2, 1), (3, 0), (6, 0)])
def test_an_output_that_lost_its_end_is_resumed(interrupted, lost, resumed_at):
    os.truncate(unfinished(interrupted), 6 - lost)
    assert write(interrupted) == BLOCKS[resumed_at:]
    assert interrupted.read_bytes() == OUTPUT


def test_a_journal_that_lost_its_end_or_is_damaged_is_resumed(interrupted):
    journal, output = unfinished(interrupted, ".json"), unfinished(interrupted)
    whole, written = journal.read_bytes(), output.read_bytes()
    damaged = [whole[:length] for length in range(0, len(whole), 7)]
    damaged += [whole.replace(b'"bytes": 2', b'"bytes": ' + value) for value in (b"-1", b'"x"')]
    damaged += [whole.replace(b"{", b"[{").replace(b"}", b"}]"), b"\xff", b"null\n"]
    for contents in damaged:
        journal.write_bytes(contents)
        output.write_bytes(written)
        write(interrupted)
        assert interrupted.read_bytes() == OUTPUT


def test_an_output_that_was_changed_or_has_no_journal_is_not_kept(interrupted):
    unfinished(interrupted).write_bytes(b"A\nb\nC\n")
    assert write(interrupted, killed_after=2) == BLOCKS[:2]
    unfinished(interrupted, ".json").unlink()
    assert write(interrupted) == BLOCKS
    assert interrupted.read_bytes() == OUTPUT


def test_two_processes_do_not_write_the_same_file(interrupted):
    with (
        ResumableOutput(interrupted),
        pytest.raises(ValueError, match="is being written by a different process"),
        ResumableOutput(interrupted),
    ):
        pass


def test_pipes_and_devices_are_not_resumable(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert is_resumable(tmp_path / "new") and not is_resumable(tmp_path / "pipe")
    assert not is_resumable("/dev/stdout") and not is_resumable(tmp_path)
