"""Registers this package's classes with Keras once Keras is loaded, so `load_model` finds them.

A program that translates on LiteRT or CTranslate2 never loads Keras, which would take seconds. So
`import t2t_keras` does not load Keras. It waits until the program loads Keras, or a module of this
package that needs it. While that module is still incomplete, importing other modules could fail.
So the classes are registered when the outermost import of a module of this package ends.
"""

import importlib.machinery
import sys
import threading

KERAS = "keras"


class RegisteringFinder:
    """Finds Keras and the modules of this package in Python's usual way, and watches them load.

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
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = WatchedLoader(self, spec.loader)
        return spec

    def add(self, count):
        with self.lock:
            self.loading += count

    def ended(self):
        """Registers the classes if Keras is loaded and no module is being loaded any more.

        Called after a module was loaded or has failed.
        """
        with self.lock:
            self.loading -= 1
            if self.loading or self.is_registered or not is_complete(sys.modules.get(KERAS)):
                return
            self.is_registered = True
        try:
            self.register()
        except BaseException:
            self.is_registered = False
            raise


def is_complete(module):
    """Returns whether Keras is completely loaded. If loading fails, Python removes the module."""
    return hasattr(module, "Model")  # an attribute of Keras


class WatchedLoader:
    """Loads a module with the usual loader, and tells the finder when loading begins and ends."""

    def __init__(self, finder, loader):
        self.finder, self.loader = finder, loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.finder.add(1)
        try:
            self.loader.exec_module(module)
        finally:
            self.finder.ended()
