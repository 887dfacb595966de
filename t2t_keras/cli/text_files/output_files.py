"""Output files of commands.

An output is opened before the work begins, is never one of the inputs, and is complete or absent.
"""

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path

from pipelines.atomic_files import atomic_file, unfinished_name
from pipelines.text.opened_text import compressing


def check_outputs(outputs, inputs, name="output"):
    """Rejects an output that is the same file as an input, even under a different name.

    A pipe, a terminal or another device may be both input and output. `outputs` is a path, a list
    of paths, or None; `inputs` is {flag: inputs in the same form}.
    """
    read = {}
    for flag, files in inputs.items():
        read |= dict.fromkeys(map(identity, listed(files)), flag)
    read.pop(None, None)
    for path in listed(outputs):
        for key in map(identity, (path, unfinished_name(path))):
            if key in read:
                raise ValueError(
                    f"--{name} and --{read[key]} are the same file, {path}: it would be "
                    "overwritten. Give a different output"
                )


def listed(files):
    if files is None:
        return []
    return [files] if isinstance(files, str | Path) else files


def identity(file):
    """Returns a key that is the same for all names of a regular file. None: not a regular file."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # the file does not exist, or its name is not allowed
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def check_output_folder(folder):
    """Raises `OSError` unless the folder can be written, or created if it does not exist."""
    folder = Path(folder).absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing))
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(existing))


@contextlib.contextmanager
def output_to(path):
    """Yields a binary file to write to: `path`, or standard output if it is None.

    The suffix of the path decides whether the file is compressed, see `compressing`. The file keeps
    its earlier contents until the block ends without error.
    """
    if path is None:
        yield sys.stdout.buffer
        return
    with atomic_file(path) as file, compressing(path)(file) as output:
        yield output
