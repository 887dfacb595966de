"""Reads lines and writes their output in blocks, so that an interrupted command can resume."""

import contextlib
import functools
import itertools
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.atomic_files import full_disk_named, locked_folder, unfinished_name
from pipelines.progress import Progress
from pipelines.text.opened_text import compressing, opened, text_in
from t2t_keras.cli.main import will_resume
from t2t_keras.cli.text_files.output_files import output_to
from t2t_keras.runs.block_file import BlockFile, appearing


class Input(NamedTuple):
    """The lines of a file or of standard input."""

    lines: Any  # an iterator of bytes. Standard input is not read before the first of them
    count: int | None  # None: the input cannot be read twice, such as a pipe
    interactive: bool  # whether a user types the lines

    def blocks(self, size):
        """Yields lists of `size` lines, or of one line if a user types them."""
        while block := [*itertools.islice(self.lines, 1 if self.interactive else size)]:
            yield block


@contextlib.contextmanager
def opened_input(path):
    """Yields the `Input` in a file, or in standard input if the path is None, "" or "-"."""
    if path and path != "-":
        with opened(path) as file:
            yield Input(file, line_count(file), False)
        return
    file = sys.stdin.buffer
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


def write_blocks(blocks, path, command, source, task, unit, finish=None):
    """Writes the outputs of blocks of lines, and shows the progress unless a user types the lines.

    Args:
        blocks: tuples of the number of lines in a block, its input in bytes, and a function of (a
            function that is told how many lines are done) that returns its output in bytes.
        path, command: the file, and all that affects the output besides the input.
        task, unit: see `Progress`.
        finish: see `BlockFile.join`; for a path that can be resumed.
    """
    with contextlib.ExitStack() as stack:
        resumable = not source.interactive and path and is_resumable(path)
        opened = opened_output(path, command, finish) if resumable else direct_output(path)
        write = stack.enter_context(opened)
        if source.interactive:
            print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr, flush=True)
            for _, contents, work in blocks:
                write(contents, functools.partial(work, lambda done: None))
            return
        progress, before = stack.enter_context(Progress(task, source.count, unit)), 0
        progress.to(0)
        for count, contents, work in blocks:

            def made(work=work, before=before):
                output = work(lambda done: progress.to(before + done))
                progress.clear()
                return output

            is_new = write(contents, made)
            before += count
            (progress.to if is_new else progress.begin_at)(before)


@contextlib.contextmanager
def direct_output(path):
    """Yields a function as `opened_output` does, for an output that cannot be resumed."""
    with output_to(path) as file:

        def write(contents, work):
            file.write(work())
            file.flush()
            return True

        yield write


@contextlib.contextmanager
def opened_output(path, command, finish=None):
    """Yields a function that writes the output of the next block, and returns whether it did.

    Its arguments are the block's input in bytes, and a function that returns the output in bytes.
    The function is not called if an interrupted command has left the output in the folder
    PATH.unfinished. The file keeps its earlier contents until the `with` block ends without error.
    """
    compressing(path)  # fails for an unsupported compression format
    path = Path(os.path.realpath(path))
    path.parent.stat()  # fails if there is no such folder
    if path.exists():
        open(path, "ab").close()  # fails if the file is read-only
    folder = unfinished_name(path)
    whole = BlockFile(path, folder, command)

    def write(contents, work):
        part = whole.add(contents)
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
        yield write
        whole.join(finish)
        for own in (*whole.parts, folder / ".lock"):
            own.unlink()
        with contextlib.suppress(OSError):  # a user's own files are in it
            folder.rmdir()


def is_resumable(path):
    """Returns whether an output is a regular file, not a pipe or a device."""
    path = Path(path)
    return not path.is_relative_to("/dev") and (path.is_file() or not path.exists())
