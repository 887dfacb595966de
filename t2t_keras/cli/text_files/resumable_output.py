"""An output file that is written in blocks, so that the same command can resume after being killed.

    OUTPUT.unfinished       the output so far
    OUTPUT.unfinished.json  the journal: a line for the command, then a line for each block

A block's line is written after its output. It contains digests of the block's input and output, so
a block is kept only if the input is unchanged and the output is intact. In a compressed file,
each block is compressed separately; decompression joins them.
"""

import contextlib
import json
import os
import shutil
import sys
from pathlib import Path

from pipelines.atomic_files import (
    digest,
    full_disk_named,
    lock,
    not_through_link,
    unfinished_name,
    write_text,
)
from pipelines.text.opened_text import compressed, writable
from t2t_keras.cli.main import will_resume
from t2t_keras.cli.text_files.output_files import output_to


def is_resumable(path):
    """Returns whether an output is a regular file, not a pipe or a device."""
    path = Path(path)
    return not path.is_relative_to("/dev") and (path.is_file() or not path.exists())


def opened_output(path, resumable):
    """Returns a context manager that opens an output before the work begins.

    Args:
        path: the file to write. None: standard output.
        resumable: whether an interrupted command may resume, if the output is a regular file.
    """
    if path and resumable and is_resumable(path):
        return ResumableOutput(path)
    return direct_output(path)


@contextlib.contextmanager
def direct_output(path):
    with output_to(path) as file:
        yield DirectOutput(file)


class DirectOutput:
    """An output that cannot be resumed, with the methods of `ResumableOutput`."""

    def __init__(self, file):
        self.file = file

    def recorded(self):
        return None

    def begin(self, command):
        pass

    def keep(self, block):
        return False

    def add(self, block, output):
        self.file.write(output)
        self.file.flush()


class ResumableOutput:
    """A context manager that writes a file, complete if the `with` block exits without error.

    Args:
        path: the file to write. It keeps its earlier contents until the `with` block exits. Its
            suffix decides whether it is compressed, see `compressing`.
    """

    def __init__(self, path):
        self.name, self.path = path, Path(os.path.realpath(path))
        self.unfinished = unfinished_name(path)
        self.journal_path = self.unfinished.with_name(self.unfinished.name + ".json")
        self.command, self.entries, self.earlier = None, [], []
        self.end = 0  # byte offset at which the next block begins
        self.is_writing = False  # whether a block has been added

    def __enter__(self):
        writable(self.name)  # fails for an unsupported compression format
        if self.path.exists():
            open(self.path, "ab").close()  # fails if the file is read-only
        self.file = open(self.unfinished, "r+b", opener=created)
        try:
            lock(self.file, self.path)
        except ValueError:
            self.file.close()
            raise
        return self

    def recorded(self):
        """Returns the command of an earlier process that began this output, or None."""
        lines = lines_of(self.journal_path)
        return lines[0] if lines and self.size() else None

    def begin(self, command):
        """Reads what an earlier process wrote for the same command.

        Args:
            command: everything that affects the output besides the input, in JSON types.
        """
        self.command = json.loads(json.dumps(command))
        before = self.recorded()
        if before is None:
            return
        _, *self.earlier = lines_of(self.journal_path)
        if before != self.command:
            changed = [name for name in self.command if self.command[name] != before.get(name)]
            self.earlier = []
            self.tell(f"is from a different command (changed: {', '.join(changed)}). Starting over")

    def keep(self, block):
        """Keeps the next block if an earlier process has written it. Returns whether it is kept.

        Args:
            block: the block's input, bytes.
        """
        if not self.earlier:
            return False
        entry = self.earlier.pop(0)
        if entry == entry_of(block, self.written(entry.get("bytes"))):
            self.advance(entry)
            will_resume()
            return True
        self.earlier = []
        self.tell(f"is damaged or from a different input after byte {self.end:,}. Resuming there")
        return False

    def written(self, count):
        """Returns the next `count` bytes that an earlier process has written, or b"" for none."""
        if not isinstance(count, int) or not 0 <= count <= self.size() - self.end:
            return b""
        return os.pread(self.file.fileno(), count, self.end)

    def advance(self, entry):
        self.entries.append(entry)
        self.end += entry["bytes"]

    def add(self, block, output):
        """Writes the next block.

        Args:
            block: the block's input, bytes.
            output: its output, bytes.
        """
        with full_disk_named(self.path):
            if not self.is_writing:
                self.discard_the_rest()
            output = compressed(output, self.name)
            self.file.write(output)
            self.file.flush()
            self.advance(entry_of(block, output))
            with open(self.journal_path, "a", encoding="utf-8") as journal:
                journal.write(json.dumps(self.entries[-1]) + "\n")
        will_resume()

    def discard_the_rest(self):
        """Truncates the file and the journal after the kept blocks."""
        self.file.truncate(self.end)
        self.file.seek(self.end)
        lines = [json.dumps(line) for line in (self.command, *self.entries)]
        write_text(self.journal_path, "".join(f"{line}\n" for line in lines))
        self.is_writing = True

    def size(self):
        return os.fstat(self.file.fileno()).st_size

    def tell(self, text):
        print(f"{self.unfinished} {text}", file=sys.stderr, flush=True)

    def __exit__(self, kind, error, traceback):
        with self.file:
            if kind is None:
                self.finish()
            elif not self.size():
                self.unfinished.unlink()

    def finish(self):
        self.file.truncate(self.end)
        if not self.end:
            self.file.write(compressed(b"", self.name))
        self.file.flush()
        os.fsync(self.file.fileno())
        if self.path.exists():
            shutil.copymode(self.path, self.unfinished)
        self.unfinished.rename(self.path)
        self.journal_path.unlink(missing_ok=True)


def created(path, flags):
    return not_through_link(path, flags | os.O_CREAT)


def lines_of(path):
    """Returns the objects in a journal, up to a line that a killed process left incomplete."""
    objects = []
    try:
        for line in path.read_bytes().splitlines():
            objects.append(json.loads(line))
            if not isinstance(objects[-1], dict):
                return objects[:-1]
    except (FileNotFoundError, ValueError):
        pass
    return objects


def entry_of(block, output):
    return {"input": digest(block), "output": digest(output), "bytes": len(output)}
