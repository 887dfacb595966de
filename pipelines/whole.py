"""What is written whole or not at all, and by one process at a time.

Whatever ends a process, a file or folder that has its name is complete: it was filled beside its
place and then renamed.
"""

import contextlib
import fcntl
import json
import os
import shutil
import uuid
from pathlib import Path


class whole_folder:
    """Lets a folder be filled that gets its name only when it is whole.

    If somebody else has finished it meanwhile, theirs stays: what is done twice is the same.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        name = f"{self.folder.name}.{uuid.uuid4().hex}.unfinished"
        self.unfinished = self.folder.with_name(name)

    def __enter__(self):
        self.unfinished.mkdir(parents=True)
        return self.unfinished

    def __exit__(self, kind, error, traceback):
        if kind is None and not self.folder.exists():
            try:
                self.unfinished.rename(self.folder)
            except OSError:
                if not self.folder.exists():
                    raise
        shutil.rmtree(self.unfinished, ignore_errors=True)


def write_json(path, contents):
    """Writes a file that is whole or absent."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(path)


def read_json(path, absent=None):
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
    """Holds a lock on the folder, which the system lets go whatever ends the process."""
    with open(Path(folder) / ".lock", "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise ValueError(
                f"{folder} is in use by process {file.read() or '?'}: wait for it, or give "
                "another folder"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
