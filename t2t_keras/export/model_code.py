"""The source files that define a model, and their digests: what an export was traced from."""

import hashlib
import importlib.metadata
import inspect
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def code_of(model_class):
    """Returns the version of this package, and {file: SHA-256} of a model's class and the layers.

    Args:
        model_class: the model's class.
    """
    paths = [Path(inspect.getfile(each)) for each in model_class.__mro__[:-1]]
    paths = [path for path in paths if path.is_relative_to(PACKAGE)]
    paths += PACKAGE.glob("layers/**/*.py")
    files = {path.relative_to(PACKAGE).as_posix(): sha256(path) for path in sorted(paths)}
    return {"version": version(), "files": files}


def changed_code(recorded):
    """Returns the files that have changed since `code_of` recorded them, in the same version."""
    files = recorded["files"] if recorded["version"] == version() else {}
    return [name for name, digest in files.items() if sha256(PACKAGE / name) != digest]


def version():
    return importlib.metadata.version("t2t-keras")


def sha256(path):
    return hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()
