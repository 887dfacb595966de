"""Output files of commands: never an input, opened before the work, complete or absent."""

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path

from pipelines.atomic_files import unfinished_name, whole_file
from pipelines.text.opened_text import compressing

# The files of a run, of its exports and of an export alone that other commands read.
READ_LATER = (
    *("config.json", "metrics.jsonl", "averaged.json", "alignment.json", "*.weights.h5", "*.keras"),
    "saved_model.pb",
    *("vocabulary/*", "checkpoints/*", "variables/*", "assets/*", "export*/**/*", "[0-9]*/**/*"),
)


def check_outputs(outputs, inputs):
    """Rejects an output that is also an input, even if they have different names.

    Pipes, terminals and other devices may be both.

    Args:
        outputs, inputs: {name in messages: path, descriptor of an open file, list of these, or
            None}.
    """
    read = {identity(file): name for name, files in inputs.items() for file in listed(files)}
    read.pop(None, None)
    for name, files in outputs.items():
        for file in listed(files):
            written = [file] if isinstance(file, int) else [file, unfinished_name(file)]
            for other in (read[key] for key in map(identity, written) if key in read):
                raise ValueError(
                    f"{name} and {other} are the same file, {file}: it would be overwritten. "
                    "Give a different output"
                )


def listed(files):
    if files is None:
        return []
    return [files] if isinstance(files, int | str | Path) else files


def identity(file):
    """Returns a key that all names of a regular file share, or None."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # there is no such file, or no file can have this name
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def files_of(folders):
    """Returns the files of runs and exports that commands read."""
    return [path for folder in folders for form in READ_LATER for path in Path(folder).glob(form)]


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
    """Yields a binary file to write to: standard output if `path` is None.

    It is compressed if its name says so, see `compressing`.
    A named file keeps its earlier contents until the block ends without error. After an error,
    the new contents are in `unfinished_name(path)`.
    """
    if path is None:
        yield sys.stdout.buffer
        return
    with whole_file(path, keep=True) as file, compressing(file, path) as output:
        yield output
