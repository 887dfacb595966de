"""Loads plug-in files: Python files of a user that add entries to the tables of this package.

A plug-in file is plain Python that adds entries to the dicts in `TABLES`. It may not replace an
entry. Importing this module does not load Keras.
"""

import ast
import contextlib
import contextvars
import hashlib
import importlib
import os
import stat
import sys
import threading
import types
from pathlib import Path
from typing import Any, NamedTuple

# {module:name of a table: the setting of a run that names its entries, or None}. The tables are
# named, not imported, because this module is below all of them and most of them load Keras.
MODELS = "t2t_keras.models:MODELS"
TABLES = {
    MODELS: "model",
    "t2t_keras.layers.positional_encoding:POSITIONAL_ENCODINGS": "model.positions",
    "t2t_keras.layers.attention_scores:SCORES": "model.attention",
    "t2t_keras.losses:LOSSES": "training.loss",
    "t2t_keras.training.optimizers:OPTIMIZERS": "training.optimizer",
    "t2t_keras.schedules:SCHEDULES": "training.schedule",
    "t2t_keras.layers.block:BLOCKS": "model.block",
    "t2t_keras.decoding.search:METHODS": "search.method",
    "t2t_keras.evaluation.metric_settings:METRICS": None,
    "pipelines.preparation.source_table:SOURCES": None,
    "pipelines.text.cleaning_rules:RULES": "data.cleaning.rules",
}
# Modules that do not load Keras. Every other import of a plug-in file may load it.
WITHOUT_KERAS = (
    "pipelines.",
    "t2t_keras.checks",
    "t2t_keras.decoding",
    "t2t_keras.evaluation",
    "t2t_keras.ops",
)
LARGEST = 1 << 20  # bytes of a plug-in file

# Environment variable: SHA-256 of plug-in files that this process and the processes that it starts
# may execute even if they belong to a run from elsewhere.
TRUSTED = "T2T_KERAS_TRUSTED"
LOADED = {}  # {SHA-256: `Plugin`} of the plug-in files that this process has executed
LOCK = threading.RLock()
PLUGIN = object()  # in place of the folder in `BASE`: a plug-in file is being executed
# The folder to which paths are relative (None: the working directory), and a list to which
# `load_plugin` appends the paths that it loads (None: no list).
BASE = contextvars.ContextVar("BASE", default=(None, None))


class Plugin(NamedTuple):
    """A plug-in file that this process has executed.

    Args:
        path: `Path` of the file.
        sha256: SHA-256 of its contents, in hexadecimal.
        module: the module.
        added: {module:name of a table: names of the entries that the file added}.
    """

    path: Path
    sha256: str
    module: Any
    added: dict


def load_plugin(path):
    """Executes a plug-in file, once in a process for the same contents, and returns its module.

    Args:
        path: path of the file; in a config file, relative to that file.

    Example:

        from t2t_keras.plugins import load_plugin

        config = load_plugin("mine.py").MyConfig(d_model=128)
    """
    folder, used = BASE.get()
    if folder is PLUGIN:
        raise ValueError(
            f"a plug-in file cannot load another one ({path}), because a run loads each by itself. "
            "Name both in imports, or put them into one file"
        )
    path = absolute(path)
    module = execute(read_plugin(path), Path(path)).module
    if used is not None and path not in used:
        used.append(path)
    return module


def load_plugins(paths):
    """Executes several plug-in files; see `load_plugin`."""
    for path in paths:
        load_plugin(path)


def plugins_with(entries):
    """Returns the executed plug-in files that added one of some entries, as `Plugin`s.

    Args:
        entries: {module:name of a table: names}.
    """
    return [
        plugin
        for plugin in LOADED.values()
        if any({*names} & {*plugin.added.get(table, ())} for table, names in entries.items())
    ]


def absolute(path):
    """Returns the absolute path of a plug-in file; see `load_plugin`."""
    folder, _ = BASE.get()
    return os.path.abspath(path if folder in (None, PLUGIN) else Path(folder) / path)


@contextlib.contextmanager
def loading_from(folder):
    """Makes paths of `load_plugin` relative to a folder; yields the list of the loaded paths."""
    used = []
    token = BASE.set((folder, used))
    try:
        yield used
    finally:
        BASE.reset(token)


def read_plugin(path):
    """Returns the contents of a plug-in file, in bytes."""
    path = Path(path)
    if path.suffix != ".py":
        raise ValueError(f"a plug-in file must be a Python file ending in .py. Received: {path}")
    try:
        with open(path, "rb", opener=lambda *given: os.open(*given[:1], READ)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError(f"a plug-in file must be one Python file. Received: {path}")
            contents = file.read(LARGEST + 1)
    except IsADirectoryError:
        raise ValueError(f"a plug-in file must be one Python file. Received: {path}") from None
    except FileNotFoundError:
        raise ValueError(f"there is no plug-in file {path}") from None
    if len(contents) > LARGEST:
        raise ValueError(f"{path} has more than {LARGEST:,} bytes: it is no plug-in file")
    return contents


READ = os.O_RDONLY | os.O_NONBLOCK  # a pipe would block


def execute(contents, path):
    """Executes the contents of a plug-in file, unless this process already has.

    Args:
        contents: bytes.
        path: `Path` of the file, for messages.

    Returns:
        The `Plugin`.
    """
    digest = sha256_of(contents)
    with LOCK:
        if digest not in LOADED:
            LOADED[digest] = executed(contents, path, digest)
            trust(digest)
        return LOADED[digest]


def trust(sha256):
    """Trusts the plug-in file with a SHA-256."""
    os.environ[TRUSTED] = " ".join(dict.fromkeys([*trusted(), sha256]))


def trusted():
    """Returns the SHA-256 of the trusted plug-in files."""
    return os.environ.get(TRUSTED, "").split()


def executed(contents, path, digest):
    name = f"t2t_plugin_{path.stem}_{digest[:12]}"  # the same in all processes, as Keras records it
    module = types.ModuleType(name)
    module.__file__ = str(path)
    with unchanged_entries(contents, path) as added, failures_named(path):
        code = compile(contents, str(path), "exec", dont_inherit=True)
        sys.modules[name] = module  # dataclasses look up their module
        token = BASE.set((PLUGIN, None))
        try:
            exec(code, vars(module))
        except BaseException:
            del sys.modules[name]
            raise
        finally:
            BASE.reset(token)
    if MODELS in added:  # loads Keras
        register_models(added[MODELS])
    return Plugin(path, digest, module, added)


def register_models(names):
    """Registers models as `.keras` files name them, so that Keras can load these files."""
    models = entries_of(MODELS)
    known = [getattr(model, "__name__", None) for model in models.values()]
    for name in names:
        # Otherwise, the experiment that uses it names the mistake.
        if isinstance(model := models[name], type) and known.count(model.__name__) == 1:
            importlib.import_module("t2t_keras.training").trainable(model)


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


@contextlib.contextmanager
def unchanged_entries(contents, path, remedy=None):
    """Rejects a block that replaces or removes entries of the tables.

    Yields a dict that is filled with {table: names of added entries}, without those of plug-in
    files that the block loads. If the block fails, the tables are restored.

    Args:
        contents: the file that the block executes, in bytes.
        path: path of the file.
        remedy: the end of the message about a file that may not add entries. None: it may.
    """
    if needs_keras(contents):  # Otherwise, tables that are not loaded yet stay so.
        for table in TABLES:
            entries_of(table)
    before, added = {table: dict(entries) for table, entries in loaded_tables().items()}, {}
    try:
        yield added
        for table, old in before.items():
            for name, entry in old.items():
                if entries_of(table).get(name) is not entry:
                    raise ValueError(
                        f"{path} replaces {name!r} in {title(table)}, {owner_of(table, name)}. "
                        f"Give its own entry a different name{apart(table, name)}"
                    )
        for table in loaded_tables():
            if names := new_names(table, before):
                added[table] = names
                if remedy is not None:
                    raise ValueError(f"{path} adds {names[0]!r} to {title(table)}. {remedy}")
    except BaseException:
        for table, entries in loaded_tables().items():
            for name in new_names(table, before):
                del entries[name]
            entries.update(before.get(table, {}))
        raise


def new_names(table, before):
    """Returns the names of entries that are neither in the copies `before` nor of plug-in files.

    A table without a copy was loaded meanwhile: its entries in the source of this package are old.
    """
    known = {*(before.get(table) or built_in(table)), *names_of_plugins(table)}
    return [name for name in entries_of(table) if name not in known]


def names_of_plugins(table):
    return {name for plugin in LOADED.values() for name in plugin.added.get(table, ())}


def needs_keras(contents):
    """Returns whether a plug-in file, given in bytes, may load Keras."""
    try:
        tree = ast.parse(contents)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # executing it raises the error
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    others = sys.stdlib_module_names - {"importlib"}
    known = (name.startswith(WITHOUT_KERAS) or name.split(".")[0] in others for name in names)
    return not all(known)


def owner_of(table, name):
    """Returns who made an entry, in words."""
    for plugin in LOADED.values():
        if name in plugin.added.get(table, ()):
            return f"an entry of {plugin.path} (SHA-256 {plugin.sha256})"
    return "an entry of this package" if name in built_in(table) else "an entry of this process"


def apart(table, name):
    """Returns what else to do about an entry that two plug-in files add, or ""."""
    if name not in names_of_plugins(table):
        return ""
    return ", or use the two files in different processes (in training: with a different --run)"


def entries_of(table):
    """Returns a table, whose module is imported if necessary."""
    module, _, name = table.partition(":")
    return getattr(importlib.import_module(module), name)


def loaded_tables():
    """Returns {module:name: table} of the tables whose modules are imported."""
    return {
        table: entries_of(table)
        for table in TABLES
        if hasattr(sys.modules.get(table.partition(":")[0]), title(table))
    }


def built_in(table):
    """Returns the names of a table's entries in the source of this package."""
    module, _, name = table.partition(":")
    if names := getattr(importlib.import_module(module), "BUILT_IN", None):
        return names
    source = Path(importlib.import_module(module).__file__).read_text("utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and [name] == [
            getattr(target, "id", None) for target in node.targets
        ]:
            return {ast.literal_eval(key) for key in node.value.keys}
    raise AssertionError(f"{module} has no dict {name}")


def title(table):
    return table.partition(":")[2]


def sha256_of(contents):
    return hashlib.sha256(contents).hexdigest()
