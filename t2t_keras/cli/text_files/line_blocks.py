"""Reads lines and writes their output in blocks, so that an interrupted command can resume."""

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.atomic_files import check_links, full_disk_named, locked_folder, unfinished_name
from pipelines.progress import Progress
from pipelines.text.opened_text import opened, text_in, writable
from t2t_keras.cli.main import will_resume
from t2t_keras.cli.process.streams import standard_input
from t2t_keras.cli.text_files.output_files import output_to
from t2t_keras.runs.block_file import BlockFile, appearing


class Input(NamedTuple):
    """The lines of a file or of standard input.

    Args:
        lines: an iterator of lines in bytes. Standard input is not read before the first of them.
        count: their number. None: the input cannot be read twice, such as a pipe.
        interactive: whether a user types them.
    """

    lines: Any
    count: int | None
    interactive: bool


class Block(NamedTuple):
    """Consecutive lines of the input.

    Args:
        count: their number.
        contents: the lines in bytes.
        work: function of (a function that is told how many lines are done) that returns the
            block's output in bytes.
    """

    count: int
    contents: bytes
    work: Any


@contextlib.contextmanager
def opened_input(path):
    """Yields the `Input` in a file, or in standard input if the path is None, "" or "-"."""
    if path and path != "-":
        with opened(path) as file:
            yield Input(file, line_count(file), False)
        return
    file = standard_input()
    if file.isatty() or not file.seekable():
        yield Input(later(file), None, file.isatty())
        return
    lines = text_in(file)
    yield Input(lines, line_count(lines), False)


def later(file):
    yield from text_in(file)


def line_count(file):
    """Returns the number of lines of a binary file from its position on. None: it is a pipe."""
    if not file.seekable():
        return None
    start = file.tell()
    count = sum(1 for _ in file)
    file.seek(start)
    return count


@contextlib.contextmanager
def opened_output(path, command, resumable=True):
    """Yields a function that writes the output of the next block, and returns whether it did.

    Its arguments are the block's input in bytes, and a function that returns the output in bytes.
    The function is not called if an interrupted command has left the output in the folder
    PATH.unfinished. The file keeps its earlier contents until the `with` block ends without error.

    Args:
        path: the file to write. None: standard output.
        command: everything that affects the output besides the input, in JSON types.
        resumable: whether an interrupted command may resume, if the path is a regular file.
    """
    if not (path and resumable and is_resumable(path)):
        with output_to(path) as file:

            def write_directly(block, work):
                file.write(work())
                file.flush()
                return True

            yield write_directly
        return
    writable(path)  # fails for an unsupported compression format
    path = Path(os.path.realpath(path))
    path.parent.stat()  # fails if there is no such folder
    if path.exists():
        open(path, "ab").close()  # fails if the file is read-only
    folder = unfinished_name(path)
    whole = BlockFile(path, folder, command)

    def write(block, work):
        part = whole.add(block)
        if is_new := not part.exists():
            if whole.delete_others():
                reason = "is from a different command or a different input"
                print(f"{folder} {reason}. Continuing without it", file=sys.stderr, flush=True)
            output = work()
            with appearing(part, folder) as file:
                file.write(output)
        will_resume()
        return is_new

    with full_disk_named(path), locked_folder(folder):
        check_links(folder)
        yield write
        whole.join()
        shutil.rmtree(folder)


def is_resumable(path):
    """Returns whether an output is a regular file, not a pipe or a device."""
    path = Path(path)
    return not path.is_relative_to("/dev") and (path.is_file() or not path.exists())


def write_blocks(blocks, write, task, total, unit, interactive):
    """Writes the output of all `Block`s with the function of `opened_output`.

    Args:
        blocks, write: the blocks, and the function.
        task, total, unit: see `Progress`.
        interactive: whether a user types the lines. Then no progress is shown.
    """
    if interactive:
        print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr, flush=True)
        for block in blocks:
            write(block.contents, lambda block=block: block.work(lambda done: None))
        return
    with Progress(task, total, unit=unit) as progress:
        progress.to(0)
        done = 0
        for block in blocks:

            def work(block=block, done=done):
                output = block.work(lambda count: progress.to(done + count))
                progress.clear()
                return output

            is_new = write(block.contents, work)
            done += block.count
            (progress.to if is_new else progress.begin_at)(done)
