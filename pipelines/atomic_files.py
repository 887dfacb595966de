"""Writes files and folders that are either complete or absent, and locks them.

Files and folders are written under a temporary name and then renamed. So a file or folder with its
final name is complete, even if the process was killed. Checksums detect later damage.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import uuid
from pathlib import Path

CHECKSUM = "checksum"  # key of a JSON file's checksum
RUN_AGAIN = "Delete it and run the same command again"
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk full, quota used up, file too large


@contextlib.contextmanager
def full_disk_named(path):
    """Adds `path` to the `OSError` for a full disk, which names no file or a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL_DISK and ".unfinished" in (error.filename or ".unfinished"):
            error.filename = str(path)
        raise


@contextlib.contextmanager
def atomic_folder(folder):
    """Yields a temporary folder, which is renamed to `folder` when the block ends without error.

    If a different process has created the same folder in the meantime, the existing folder is kept,
    because both have the same contents.
    """
    folder = Path(os.path.realpath(folder))
    unfinished = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.unfinished")
    unfinished.mkdir(parents=True)
    try:
        with full_disk_named(folder):
            yield unfinished
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextlib.contextmanager
def atomic_file(path):
    """Yields a binary file that replaces `path` when the block ends without error.

    If the path cannot be written, an error is raised before the block. Pipes and devices are
    written directly.
    """
    path = Path(path)
    if path.exists() and (not path.is_file() or path.is_relative_to("/dev")):
        with full_disk_named(path), open(path, "wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))  # keeps a link and replaces its target
    if path.exists():
        open(path, "ab").close()  # fails if the file is read-only
    unfinished = unfinished_name(path)
    with full_disk_named(path), open(unfinished, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{path} is being written by a different process. Wait until it ends, or give a "
                "different file"
            ) from None
        try:
            file.truncate(0)
            if path.exists():
                shutil.copymode(path, unfinished)
            yield file
            file.flush()
            unfinished.rename(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)  # an interrupt may arrive after the rename
            raise


def unfinished_name(path):
    """Returns the temporary name of a file that is being written."""
    path = Path(os.path.realpath(path))
    return path.with_name(path.name + ".unfinished")


def write_text(path, text):
    """Writes a text file atomically."""
    with atomic_file(path) as file:
        file.write(text.encode())


def write_json(path, contents):
    """Writes a dict to a JSON file atomically, with a checksum."""
    contents = json.loads(json.dumps(contents))
    write_text(path, json.dumps(contents | {CHECKSUM: json_digest(contents)}, indent=2) + "\n")


def read_json(path, absent=None, remedy=RUN_AGAIN):
    """Returns the dict in a JSON file, or `absent` if there is no such file.

    The checksum is verified and left out. A file without a checksum is not verified.

    Args:
        path: a `Path`.
        absent: the result if there is no such file.
        remedy: the last sentence of the error message about a damaged file.
    """
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(contents, dict):
            raise ValueError("it must contain an object, {…}")
        checksum = contents.pop(CHECKSUM, None)
        if checksum not in (None, json_digest(contents)):
            raise ValueError("its contents do not match its checksum")
    except (FileNotFoundError, NotADirectoryError):
        return absent
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error}). {remedy}") from error
    return contents


def with_tuples(value):
    """Converts all lists in the value of a JSON file, at any depth, to tuples."""
    if isinstance(value, dict):
        return {name: with_tuples(each) for name, each in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list | tuple) else value


def json_digest(contents):
    """Returns a digest of a JSON value, independent of the file's layout."""
    return digest(json.dumps(contents, sort_keys=True).encode())


def digest(contents):
    """Returns a 128-bit digest of bytes, in hexadecimal."""
    return hashlib.blake2b(contents, digest_size=16).hexdigest()


def file_digest(path):
    """Returns the `digest` of a file's contents."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


@contextlib.contextmanager
def locked_folder(folder, wait=False):
    """Creates a folder and locks it against other processes, by the file `.lock` in it.

    The system releases the lock if the process dies. If the block raises an error before it writes
    anything, folders created here are removed again. If the disk fills up, the error names the
    folder.

    Args:
        folder: the folder.
        wait: wait until no other process has locked it. False: raise `ValueError`.
    """
    folder = Path(folder)
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    before, lock = {*folder.iterdir()}, folder / ".lock"
    with open(lock, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            file.seek(0)
            raise ValueError(
                f"{folder} is in use by process {file.read() or '?'}. Wait until it ends, or give "
                "a different folder"
            ) from None
        try:
            with full_disk_named(folder):
                file.truncate(0)
                file.write(str(os.getpid()))
                file.flush()
                yield
        except BaseException:
            if {*folder.iterdir()} - before == {lock}:
                lock.unlink()
                with contextlib.suppress(OSError):  # not empty
                    for path in created:
                        path.rmdir()
            raise
