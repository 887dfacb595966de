"""A file whose blocks are written one by one, by one process or several, and then joined.

    FOLDER/000002-DIGEST    output of the third block, complete or absent

The digest depends on the command and on the input up to the end of the block. So the same command
finds the blocks of an interrupted one, and no record of them is needed.
"""

import contextlib
import os
import shutil
import uuid

from pipelines.atomic_files import digest, json_digest
from pipelines.text.opened_text import compressing


class BlockFile:
    """The blocks of a file, which is compressed if its suffix requires it, in a folder.

    `command` is everything that affects the file besides the input, in JSON types.
    """

    def __init__(self, path, folder, command):
        self.path, self.folder, self.parts = path, folder, []
        self.digest = json_digest(command)

    def add(self, block):
        """Returns the path for the output of the next block of the input, given in bytes."""
        self.digest = digest(self.digest.encode() + block)
        self.parts.append(self.folder / f"{len(self.parts):06}-{self.digest}")
        return self.parts[-1]

    def delete_others(self):
        """Deletes blocks of different commands or inputs. Returns whether there were any."""
        others = {*self.folder.glob("[0-9]*-*")} - {*self.parts}
        for path in others:
            path.unlink()
        return bool(others)

    def join(self, finish=None):
        """Writes the file: the outputs of its blocks, or what `finish` makes of them, in bytes."""
        with appearing(self.path, self.folder) as file, compressing(self.path)(file) as whole:
            if finish is not None:
                whole.write(finish(b"".join(part.read_bytes() for part in self.parts)))
                return
            for part in self.parts:
                with open(part, "rb") as output:
                    shutil.copyfileobj(output, whole)


@contextlib.contextmanager
def appearing(path, folder):
    """Yields a binary file, which is renamed to `path` when the block ends without error.

    Several processes may write the same contents at once: the unfinished file in the folder has a
    unique name.
    """
    unfinished = folder / f"{path.name}.{uuid.uuid4().hex}.unfinished"
    try:
        with open(unfinished, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # before it gets the name of a complete file
        if path.exists():
            shutil.copymode(path, unfinished)
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)
