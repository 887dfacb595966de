"""Loads plug-in files: Python files of a user that add entries to the tables of this package.

Each table is a `Registry`, to which a plug-in file adds an entry: `LOSSES["mine"] = MyLoss`.
Importing this module does not load Keras.
"""

import ast
import contextlib
import hashlib
import os
import re
import sys
import threading
import types
from pathlib import Path

from pipelines.registry import EXECUTED, Plugin

# Environment variable: SHA-256 of plug-in files that this process and the processes that it starts
# may execute even if they belong to a run from elsewhere.
TRUSTED = "T2T_KERAS_TRUSTED"
BESIDE = re.compile(r"[^/\\\x00-\x1f.][^/\\\x00-\x1f]*")  # names of files in the same folder
LOADED = {}  # {path: (`Plugin`, module)} of the plug-in files that this process has executed
LOCK = threading.RLock()


def load_plugin(path):
    """Executes a plug-in file, once in a process for the same contents, and returns its module.

    Args:
        path: path of the file; in a config file, relative to that file.

    Example:

        from t2t_keras.plugins import load_plugin

        config = load_plugin("mine.py").MyConfig(d_model=128)
    """
    by, path = EXECUTED.get(), absolute(path)
    if by is not None and by.loaded is None:
        raise ValueError(
            f"a plug-in file cannot load another one ({path}), because a run loads each by itself. "
            "Name both in imports, or put them into one file"
        )
    module = execute(read_plugin(path))
    if by is not None and path not in by.loaded:
        by.loaded.append(path)
    return module


def load_plugins(paths):
    """Executes several plug-in files; see `load_plugin`."""
    for path in paths:
        load_plugin(path)


def absolute(path):
    """Returns the absolute path of a plug-in file; see `load_plugin`."""
    by = EXECUTED.get()
    return os.path.abspath(path if by is None or by.loaded is None else by.path.parent / path)


@contextlib.contextmanager
def executing(plugin):
    """Notes in the block that a `Plugin` is being executed."""
    token = EXECUTED.set(plugin)
    try:
        yield plugin
    finally:
        EXECUTED.reset(token)


def read_plugin(path):
    """Returns a plug-in file as a `Plugin`, with its absolute path."""
    if not str(path).endswith(".py"):
        raise ValueError(f"a plug-in file must be a Python file ending in .py. Received: {path}")
    if not os.path.isfile(path):
        raise ValueError(f"there is no plug-in file {path}")
    path = Path(os.path.abspath(path))
    contents = path.read_bytes()
    return Plugin(path, contents, files=tuple(files_beside(path, contents)))


def files_beside(path, contents):
    """Yields name and SHA-256 of each file that a plug-in file names in `FILES = ("NAME",)`."""
    names, written = (), re.search(rb"^FILES = (\([^()]*\))", contents, re.MULTILINE)
    with contextlib.suppress(ValueError, SyntaxError):  # `execute` reports them
        names = ast.literal_eval(written[1].decode()) if written else ()
    for name in map(str, names if isinstance(names, tuple) else ()):
        if not BESIDE.fullmatch(name) or not path.with_name(name).is_file():
            raise ValueError(f"there is no file {name!r} beside {path}, whose FILES name it")
        with open(path.with_name(name), "rb") as file:
            yield name, hashlib.file_digest(file, "sha256").hexdigest()


def executed_plugin(path):
    """Returns the `Plugin` that this process has executed from a path, or executes it now."""
    plugin, _ = LOADED.get(Path(path)) or (read_plugin(path), None)
    execute(plugin)
    return plugin


def execute(plugin):
    """Executes a `Plugin` unless this process has executed its contents. Returns its module."""
    path = str(plugin.path)
    with LOCK:
        for known, module in LOADED.values():
            if (known.contents, known.files) == (plugin.contents, plugin.files):
                return module
        # The same name in all processes, because Keras records it.
        module = types.ModuleType(f"t2t_plugin_{plugin.path.stem}_{plugin.sha256[:12]}")
        module.__file__ = path
        with executing(plugin), failures_named(path):
            code = compile(plugin.contents, path, "exec", dont_inherit=True)
            sys.modules[module.__name__] = module  # dataclasses look up their module
            exec(code, vars(module))
            if getattr(module, "FILES", ()) != (names := tuple(dict(plugin.files))):
                raise ValueError(
                    "FILES must be a tuple of names, written out as in FILES = ('weights.tsv',). "
                    f"Received: {vars(module).get('FILES')!r}, of which {names!r} were found"
                )
        LOADED[plugin.path] = plugin, module  # replaces the file before it was edited
        trust(plugin.sha256)
        return module


@contextlib.contextmanager
def failures_named(path):
    """Turns errors of a user's file into a `ValueError` that names the file and the line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        line, traceback = getattr(error, "lineno", None), error.__traceback__
        while traceback:
            if traceback.tb_frame.f_code.co_filename == str(path):
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        where = f"{path}, line {line}" if line else str(path)
        hint = ""
        if isinstance(error, ImportError):
            hint = ". A plug-in file may import installed packages, but no file beside it"
        message = " ".join(str(error).split())
        raise ValueError(
            f"{where}: the file does not run: {type(error).__name__}: {message}{hint}"
        ) from error


def trust(sha256):
    """Trusts the plug-in file with a SHA-256."""
    os.environ[TRUSTED] = " ".join(dict.fromkeys([*trusted(), sha256]))


def trusted():
    """Returns the SHA-256 of the trusted plug-in files."""
    return os.environ.get(TRUSTED, "").split()
