"""Finds and loads the files of configs. Importing this module does not load Keras."""

import importlib.util
from pathlib import Path

from t2t_keras.checks import nearest


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
    path = Path(path)
    spec = importlib.util.spec_from_file_location(f"t2t_config_{path.stem}", path)
    if spec is None:
        raise ValueError(f"A config must be a Python file ending in .py. Received: {path}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (SyntaxError, ImportError, NameError) as error:
        raise ValueError(f"{path} does not run: {type(error).__name__}: {error}") from error
    if not callable(getattr(module, "get_config", None)):
        raise ValueError(
            "A config file must define get_config(variant), which returns an Experiment. "
            f"Received: {path}, which does not define it"
        )
    return module
