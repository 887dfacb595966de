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


@contextlib.contextmanager
def whole_file(path):
    """Yields a binary file that replaces `path` when the block ends without error.

    A path that cannot be written raises an error before the block. Pipes and devices are written
    directly.
    """
    path = Path(path)
    if path.exists() and (not path.is_file() or path.is_relative_to("/dev")):
        with open(path, "wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))  # a link is kept, and its target replaced
    if path.exists():
        open(path, "ab").close()  # fails if the file is read-only
    unfinished = unfinished_name(path)
    with open(unfinished, "ab") as file:
        lock(file, path)
        try:
            file.truncate(0)
            if path.exists():
                shutil.copymode(path, unfinished)
            yield file
            file.flush()
            unfinished.rename(path)
        except BaseException:
            unfinished.unlink()
            raise


def unfinished_name(path):
    """Returns the temporary name of a file that is being written."""
    path = Path(os.path.realpath(path))
    return path.with_name(path.name + ".unfinished")


def lock(file, path):
    """Locks an open file against other processes that write `path`."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(
            f"{path} is being written by a different process. Wait until it ends, or give a "
            "different file"
        ) from None


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
