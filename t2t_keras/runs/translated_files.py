"""Files that several processes or machines translate in blocks of lines.

    OUTPUT/NAME                             translation of the input file NAME, once complete
    OUTPUT/.t2t-translate/NAME/record.json  command, input and, once complete, the output's digest
    OUTPUT/.t2t-translate/NAME/lines-5000   output of the block that begins with line 5,000

One process divides the files and joins the outputs of their blocks; the others translate blocks.
Any process may die at any time, and Beam may have the same block translated twice.
"""

import contextlib
import itertools
import json
import shutil
import sys
import uuid
from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import file_digest, read_json, write_json
from pipelines.text.opened_text import compressing, opened

PROGRESS = ".t2t-translate"  # hidden, so that patterns such as OUTPUT/* do not match it


class LineBlock(NamedTuple):
    """Consecutive lines of an input file.

    Args:
        source: path of the input file.
        first: index of the first line.
        byte: offset of the first line in the uncompressed file.
        lines: number of lines; the last block of a file may have fewer.
        output: path of the block's output.
    """

    source: Path
    first: int
    byte: int
    lines: int
    output: Path

    def read(self):
        """Returns the lines in bytes, with their line breaks."""
        with opened(self.source) as file:
            file.seek(self.byte)
            return list(itertools.islice(file, self.lines))

    def write(self, output):
        """Writes the output in bytes. The file is complete or absent."""
        with appearing(self.output, self.output.parent) as file:
            file.write(output)


class TranslatedFile:
    """An input file and its translation, which is compressed if its suffix requires it.

    Args:
        source: path of the input file.
        path: path of the translation.
    """

    def __init__(self, source, path):
        self.source, self.path = source, path
        self.progress = path.parent / PROGRESS / path.name
        self.record, self.blocks, self.is_complete = {}, [], False

    def begin(self, command):
        """Divides the input file, unless its translation is complete.

        Translations by a different command or of a different input are discarded.

        Args:
            command: everything except the input that affects the translation, in JSON types.
        """
        self.record = {"command": json.loads(json.dumps(command))}
        self.record["input"] = file_digest(self.source)
        remedy = f"Delete {self.progress} and run the same command again"
        before = read_json(self.progress / "record.json", {}, remedy)
        digest = before.pop("output", None)
        if before not in ({}, self.record):
            self.tell("is from a different command or a different input")
        elif digest and self.is_intact(digest):
            self.delete_blocks()  # a process killed after joining them leaves them behind
            self.is_complete = True
            return
        elif digest:
            self.tell("is missing or was changed")
        if before != self.record:
            self.delete_blocks()
        self.progress.mkdir(parents=True, exist_ok=True)
        write_json(self.progress / "record.json", self.record)
        for path in self.progress.glob("*.unfinished"):
            path.unlink()
        lines = command["lines"]
        self.blocks = [
            LineBlock(
                self.source, index * lines, byte, lines, self.progress / f"lines-{index * lines}"
            )
            for index, byte in enumerate(block_starts(self.source, lines))
        ]
        self.join()

    def is_intact(self, digest):
        return self.path.is_file() and file_digest(self.path) == digest

    def tell(self, reason):
        print(f"{self.path} {reason}. Translating it again", file=sys.stderr, flush=True)

    def missing(self):
        """Returns the blocks without output."""
        if self.is_complete:
            return []
        names = {path.name for path in self.progress.iterdir()}
        return [block for block in self.blocks if block.output.name not in names]

    def join(self):
        """If no block is missing, writes the translation and deletes the blocks' outputs."""
        if self.is_complete or self.missing():
            return
        with appearing(self.path, self.progress) as file, compressing(file, self.path) as text:
            for block in self.blocks:
                with open(block.output, "rb") as output:
                    shutil.copyfileobj(output, text)
        self.record["output"] = file_digest(self.path)
        write_json(self.progress / "record.json", self.record)
        self.is_complete = True
        self.delete_blocks()

    def delete_blocks(self):
        for path in self.progress.glob("lines-*"):
            path.unlink()


def block_starts(path, lines):
    """Returns the uncompressed byte offset of each block's first line."""
    starts, byte = [], 0
    with opened(path) as file:
        for index, line in enumerate(file):
            if index % lines == 0:
                starts.append(byte)
            byte += len(line)
    return starts


@contextlib.contextmanager
def appearing(path, folder):
    """Yields a binary file, which is renamed to `path` when the block ends without error.

    Args:
        path: the file to write. Several processes may write the same contents at once.
        folder: folder for the unfinished file, which gets a unique name.
    """
    unfinished = folder / f"{path.name}.{uuid.uuid4().hex}.unfinished"
    try:
        with open(unfinished, "xb") as file:
            yield file
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)
