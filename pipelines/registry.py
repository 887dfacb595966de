"""Tables that plug-in files of a user extend, and the files that this process has executed."""

import contextvars
import hashlib
from pathlib import Path
from typing import NamedTuple

from pipelines.checks import check_value


class Plugin(NamedTuple):
    """A Python file that is or was executed: a plug-in file, or a config, which adds no entries."""

    path: Path
    contents: bytes = b""  # as they were executed; not recorded for a config
    loaded: list | None = None  # of a config, the paths that it loads by `load_plugin`
    files: tuple = ()  # (name, SHA-256) of each file that it names in FILES

    @property
    def sha256(self):
        """SHA-256 of the contents; with FILES, of the lines that sha256sum prints."""
        code = hashlib.sha256(self.contents).hexdigest()
        lines = [f"{sha256}  {name}\n" for name, sha256 in ((self.path.name, code), *self.files)]
        return hashlib.sha256("".join(lines).encode()).hexdigest() if self.files else code


EXECUTED = contextvars.ContextVar("EXECUTED", default=None)  # the `Plugin` that is being executed
REGISTRIES = {}  # {name: `Registry`} of the imported ones


class Registry(dict):
    """A table, {name: entry}. A plug-in file may add entries, but not replace any.

    `table[name]` raises `ValueError` for an unknown name.

    Args:
        name: the table's name.
        setting: the setting that names its entries, such as "training.loss", or None.
        entries: the entries of this package.
    """

    def __init__(self, name, setting, entries):
        super().__init__(entries)
        self.name, self.setting = name, setting
        self.built_in = frozenset(entries)
        self.owners = {}  # {name: the `Plugin` that added it, or None: this process did}
        REGISTRIES[name] = self

    def __missing__(self, name):
        check_value((self.setting or self.name).rpartition(".")[2], name, str, self)

    def __setitem__(self, name, entry):
        plugin, owner = EXECUTED.get(), self.owners.get(name)
        if plugin is not None and plugin.loaded is not None:
            raise ValueError(
                f"{plugin.path} adds {name!r} to {self.name}. Other commands would not find it "
                "there. Move the entry to a Python file of its own, such as mine.py, and call "
                't2t_keras.plugins.load_plugin("mine.py")'
            )
        # A file that was edited replaces its own entries.
        if name in self and not (plugin and owner and plugin.path == owner.path):
            who, apart = "this process", ""
            if owner and plugin and plugin.path.name == owner.path.name:
                raise ValueError(
                    f"{owner.path} and {plugin.path} are different versions of a file, and a "
                    "process can use only one. Use runs with different versions separately, for "
                    "example with t2t-evaluate; to resume a run, omit --imports"
                )
            if owner is not None:
                who = f"{owner.path} (SHA-256 {owner.sha256})"
                apart = ", or use both files in different processes (when training: other --run)"
            elif name in self.built_in:
                who = "this package"
            raise ValueError(
                f"{self.name} has an entry {name!r} of {who}. Give yours a different name{apart}"
            )
        super().__setitem__(name, entry)
        self.owners[name] = plugin

    def update(self, entries):
        for name, entry in entries.items():
            self[name] = entry

    def __ior__(self, entries):
        self.update(entries)
        return self

    def own(self):
        """Returns the names of entries that are not this package's."""
        return [name for name in self if name not in self.built_in]

    def plugins(self, names):
        """Returns the `Plugin`s that added some of the entries with these names."""
        owners = (self.owners.get(name) for name in names if name in self)
        return [*dict.fromkeys(owner for owner in owners if owner)]
