"""Registers this package's classes with Keras once Keras is loaded, so `load_model` finds them.

A program that translates on LiteRT or CTranslate2 never loads Keras, which takes seconds. So
`import t2t_keras` waits until somebody else has loaded it: the program itself, or a module of this
package that needs it. A module of ours may not yet be complete when it loads Keras, and importing
others then would meet its incomplete half. So the classes are registered when the outermost import
of a module of ours ends.
"""

import importlib.machinery
import sys
import threading

KERAS = "keras"


class RegisteringFinder:
    """Finds the modules of this package and Keras as Python does, and watches them load.

    Args:
        package: name of this package.
        register: function without arguments that imports all classes.
    """

    def __init__(self, package, register):
        self.package, self.register = package, register
        self.lock = threading.Lock()
        self.loading = 0  # number of modules that are being loaded, in all threads
        self.is_registered = False

    def find_spec(self, name, path=None, target=None):
        if self.is_registered or not (name == KERAS or name.startswith(f"{self.package}.")):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = WatchedLoader(self, spec.loader)
        return spec

    def add(self, count):
        with self.lock:
            self.loading += count

    def loaded(self):
        """Registers the classes after a module was loaded, if Keras is loaded and nothing else is
        being loaded."""
        with self.lock:
            self.loading -= 1
            if self.loading or self.is_registered or sys.modules.get(KERAS) is None:
                return
            self.is_registered = True
        self.register()


class WatchedLoader(importlib.machinery.SourceFileLoader):
    """Loads a module, and tells the finder when it begins and ends."""

    def __init__(self, finder, loader):
        super().__init__(loader.name, loader.path)
        self.finder = finder

    def exec_module(self, module):
        self.finder.add(1)
        try:
            super().exec_module(module)
        except BaseException:
            self.finder.add(-1)
            raise
        self.finder.loaded()
