"""The plug-in files of a run: copies in RUN/imports, whose SHA-256 is in config.json.

Commands use these copies. They are Python code, so they are executed only if the user trusts
them or has given the same files to this process. Importing this module loads neither TensorFlow nor
Keras.
"""

import re
import shlex
import sys
from pathlib import Path

from pipelines.printable import printable
from pipelines.registry import REGISTRIES
from t2t_keras.decoding.search import METHODS
from t2t_keras.plugins import execute, read_plugin, trust, trusted
from t2t_keras.runs.config_file import invalid, read_config

FOLDER = "imports"
NAME = re.compile(r"[^/\\\x00-\x1f.][^/\\\x00-\x1f]*\.py")


def files_of_run(folder):
    """Returns the `Plugin`s of a run, after comparing them with the SHA-256 in config.json."""
    config = Path(folder) / "config.json"
    recorded = read_config(config).get("imports") or {}
    if not isinstance(recorded, dict) or not all(map(NAME.fullmatch, recorded)):
        raise invalid(config, 'its entry "imports" must be {"NAME.py": SHA-256}')
    found = []
    for name, sha256 in recorded.items():
        path = Path(folder) / FOLDER / name
        found.append(read_plugin(path) if path.is_file() else None)
        if found[-1] is None or found[-1].sha256 != sha256:
            files = "".join(f" or its {file}" for file, _ in found[-1].files) if found[-1] else ""
            raise ValueError(
                f"{folder} needs its plug-in file {path} with SHA-256 {sha256}, as config.json "
                f"says. It{files} is missing or has changed since training: restore it from a copy "
                "of the run"
            )
    return found


def load_plugins_of(folder, with_text=b""):
    """Executes the `Plugin`s of a run, unless this process already has, and returns them.

    Only the files that contain `with_text` are executed. Raises `ValueError` if the user does not
    trust one of them.
    """
    files = [file for file in files_of_run(folder) if with_text in file.contents]
    for file in files:
        if file.sha256 not in trusted():
            raise ValueError(
                f"{folder} needs the Python code in {file.path} (SHA-256 {file.sha256}), which was "
                "not executed, because it may do anything and you have not trusted it. Read it, "
                "and give the same command with --trust (in Python: trust=True)"
            )
    for file in files:
        execute(file).__file__ = str(file.path)  # perhaps executed from a different folder
    return files


def load_method(folder, method):
    """Executes the plug-in files of a run that add search methods, if one adds `method`.

    The engine of LiteRT needs no other entries, so it starts without Keras.
    """
    if method not in METHODS.built_in:
        load_plugins_of(folder, with_text=b"METHODS")


def trust_plugins_of(folder):
    """Trusts the plug-in files of a run and says so. A folder that is not a run has none."""
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        return
    for file in files_of_run(folder):
        if file.sha256 not in trusted():
            trust(file.sha256)
            message = f"--trust: the Python code in {file.path} is executed (SHA-256 {file.sha256})"
            print(printable(message), file=sys.stderr)


def named_entries(settings, architecture):
    """Yields each `Registry` with a name that a setting has for one of its entries.

    The settings are those of an `Experiment`, as a dict; the architecture is the model's name.
    """
    for table in REGISTRIES.values():
        value = settings
        for part in (table.setting or "").split("."):
            value = (value or {}).get(part)
        if table.setting == "model":
            value = architecture
        for name in value if isinstance(value, list | tuple) else [value]:
            if isinstance(name, str):
                yield table, name.partition("=")[0]  # a rule: "NAME=VALUE"


def missing_entry(contents, folder):
    """Returns a message about an entry that a config.json names and no table has, or None."""
    for table, name in named_entries(contents["experiment"], contents.get("architecture")):
        if name not in table:
            return (
                f"{folder} needs the entry {name!r} of {table.name} ({table.setting}), which "
                "neither this version nor a plug-in file of the run has. If a Python file of yours "
                f"adds it, t2t-train --run={shlex.quote(str(folder))} --imports=FILE puts it into "
                "the run; in Python, load it first: t2t_keras.plugins.load_plugin(FILE)"
            )
    return None
