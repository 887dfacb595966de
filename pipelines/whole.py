"""Files and folders that are either complete or absent, and locks.

Files and folders are written under a temporary name and then renamed. So under
their final names they are complete, even if the process was killed.
"""

import contextlib
import fcntl
import json
import os
import shutil
import uuid
from pathlib import Path


@contextlib.contextmanager
def whole_folder(folder):
    """Yields a temporary folder, which is renamed to `folder` when the block ends without error.

    If a different process has finished the same folder in the meantime, that one is kept: both
    have the same contents.
    """
    folder = Path(folder)
    unfinished = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.unfinished")
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        if not folder.exists():
            try:
                unfinished.rename(folder)
            except OSError:
                if not folder.exists():
                    raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def write_json(path, contents):
    """Writes a JSON file that is complete or absent."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(path)


def read_json(path, absent=None):
    """Returns the contents of a JSON file, or `absent` if there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return absent
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged ({error}). Delete it and run the same command again"
        ) from error


@contextlib.contextmanager
def only_one(folder):
    """Locks a folder against other processes. The system releases the lock if this one dies."""
    with open(Path(folder) / ".lock", "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise ValueError(
                f"{folder} is in use by process {file.read() or '?'}. Wait until it ends, or give "
                "a different folder"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
