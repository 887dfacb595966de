"""Finds and loads the files of configs. Importing this module does not load Keras."""

import ast
import contextlib
import importlib.util
from pathlib import Path

from t2t_keras.checks import nearest
from t2t_keras.plugins import load_plugins, loading_from, unchanged_entries


def find_config(name):
    """Returns the file at the path `name` or, if there is none, the shipped config `name`."""
    if Path(name).is_file():
        return Path(name)
    shipped = shipped_configs()
    if name in shipped:
        return shipped[name]
    shipped.pop("settings_of", None)  # it takes a run's settings, for the package's own commands
    raise ValueError(
        f"There is no config {name!r}, neither a file at that path nor a shipped config"
        f"{nearest(name, shipped)}. Shipped are: {', '.join(sorted(shipped))}"
    )


def shipped_configs():
    """Returns {name: path} of the configs that are shipped with the package."""
    package = Path(__file__).parent
    # An installed package contains the configs; in a checkout they are next to it (see setup.py).
    for folder in (package / "configs", package.parent / "configs"):
        if folder.is_dir():
            return {path.stem: path for path in folder.glob("*.py")}
    raise FileNotFoundError(f"The shipped configs are missing, both in {package} and next to it")


def load_config_file(path):
    """Executes a config file and returns it as a module with `get_config`."""
    with loading_plugins_of(path):
        return executed(path)


@contextlib.contextmanager
def loading_plugins_of(path):
    """Yields the list of the plug-in files that a config file loads in the block.

    A config file may load plug-in files, but adds no entries itself: a run contains plug-in files,
    not the config.
    """
    remedy = (
        "Other commands would not find it there. Move the entry to a Python file of its own, such "
        'as mine.py, and add imports=("mine.py",) to the Experiment'
    )
    contents = Path(path).read_bytes()
    with loading_from(Path(path).parent) as used, unchanged_entries(contents, path, remedy):
        yield used


def executed(path):
    """Executes a config file within `loading_plugins_of`."""
    path = Path(path)
    spec = importlib.util.spec_from_file_location(f"t2t_config_{path.stem}", path)
    if spec is None:
        raise ValueError(f"A config must be a Python file ending in .py. Received: {path}")
    module = importlib.util.module_from_spec(spec)
    try:
        with loading_from(path.parent):  # not for the run, unless an `Experiment` has them
            load_plugins(named_imports(path.read_bytes()))
        spec.loader.exec_module(module)
    except (SyntaxError, ImportError, NameError) as error:
        raise ValueError(f"{path} does not run: {type(error).__name__}: {error}") from error
    if not callable(getattr(module, "get_config", None)):
        raise ValueError(
            "A config file must define get_config(variant), which returns an Experiment. "
            f"Received: {path}, which does not define it"
        )
    return module


def named_imports(contents):
    """Returns the plug-in files that a config file names as text in `imports=("mine.py",)`.

    They are loaded before the config is executed, because Python evaluates the other arguments of
    `Experiment`, which may use their entries, before it makes the `Experiment`. If the variants of
    the config name different files, none is returned, and each `Experiment` loads its own.
    """
    found = set()
    for node in ast.walk(ast.parse(contents)):
        if isinstance(node, ast.keyword) and node.arg == "imports":
            texts = getattr(node.value, "elts", ())
            names = [each.value for each in texts if isinstance(each, ast.Constant)]
            found.add(tuple(name for name in names if isinstance(name, str)))
    return found.pop() if len(found) == 1 else ()
