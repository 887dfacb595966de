"""Serves the newest version of a model from its numbered folders.

A newer version is loaded and warmed up while the current one still serves, and then replaces it.
The old version is unloaded after its last request. If the newest folder is removed, the version
before it is loaded again. A version whose files change is loaded again after the last change.
"""

import asyncio
import contextlib
import ctypes
import gc
import os

from absl import logging

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.model import ServedModel

POLL_SECONDS = 1.0  # interval of checks; a version that changes between two checks is incomplete
RETRY_SECONDS = 2.0, 300.0  # first and longest wait before a broken version is tried again
NO_FAILURE = None, 0.0, 0.0


class Version:
    """One version, from loading to unloading.

    Args:
        number: number of the version, which is the name of its folder.
        files: files of the version when it was loaded; see `files_in`.
    """

    def __init__(self, number, files):
        self.number, self.files, self.model = number, files, None
        self.state, self.error = "LOADING", ""
        self.in_flight, self.retired = 0, False

    def activate(self, model):
        """Makes a loaded `ServedModel` available."""
        self.model, self.state = model, "AVAILABLE"

    @contextlib.contextmanager
    def in_use(self):
        """Keeps the version in memory during a request."""
        self.in_flight += 1
        try:
            yield self
        finally:
            self.in_flight -= 1
            self.unload_if_unused()

    def retire(self):
        self.retired, self.state = True, "UNLOADING"
        self.unload_if_unused()

    def unload_if_unused(self):
        if not self.retired or self.in_flight or self.state == "END":
            return
        self.model, self.state = None, "END"
        gc.collect()  # a model is large and full of reference cycles
        return_free_memory()
        logging.info("Version %d is unloaded", self.number)


def return_free_memory():
    """Returns free memory to the system, if the C library can."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


class Versions:
    """The versions in a folder.

    Args:
        source: the `ModelSource`.
        metrics: the `Metrics`.
    """

    def __init__(self, source, metrics):
        self.name, self.source, self.metrics = source.name, source, metrics
        metrics.begins(self.name)
        self.known = {}  # {number: `Version`} for all versions that were loaded or tried
        self.current = None
        # {number of a broken version: its files, the seconds until it is tried again, that time}
        self.failures = {}
        self.is_starting = True  # until all versions that exist at the start were tried
        self.seen = {}  # {number: files at the last check of the folder}

    async def start(self):
        """Loads the newest version that works."""
        try:
            await self.load_newest()
        finally:
            self.is_starting = False

    async def load_newest(self):
        first_error = None
        for number, folder in sorted(self.source.versions().items(), reverse=True):
            try:
                return await self.switch_to(number, folder)
            except Exception as error:
                first_error = first_error or ValueError(f"{folder} cannot be served: {error}")
        raise first_error or ValueError(f"{self.source.folder} no longer contains a version")

    async def switch_to(self, number, folder):
        """Loads a version and makes it current. If that fails, raises and keeps the current one."""
        files = self.files_of(folder)
        version = Version(number, files)
        if self.current is None or number != self.current.number:
            self.known[number] = version
        logging.info("Loading version %d of %s", number, self.name)
        try:
            version.activate(await asyncio.to_thread(self.load_and_warm_up, folder))
        except Exception as error:
            version.state, version.error = "END", "Loading failed; the server's log has the reason"
            wait = self.record_failure(number, files)
            logging.warning(
                "Version %d of %s cannot be loaded and is skipped: %s. It is tried again in %g "
                "seconds, or when its files change",
                number,
                self.name,
                error,
                wait,
            )
            raise
        self.failures.pop(number, None)
        self.known[number] = version
        before, self.current = self.current, version
        engine, languages = version.model.engine, version.model.languages
        self.metrics.serves(self.name, number, engine)
        logging.info("Version %d of %s is serving%s", number, self.name, described(languages))
        if before:
            before.retire()

    def record_failure(self, number, files):
        """Records a failure; returns the number of seconds until the version is tried again."""
        first, last = RETRY_SECONDS
        before, wait, _ = self.failures.get(number, NO_FAILURE)
        wait = min(2 * wait, last) if before == files else first
        self.failures[number] = files, wait, asyncio.get_running_loop().time() + wait
        return wait

    def load_and_warm_up(self, folder):
        engine = self.source.load(folder)
        languages = engine.languages() or self.source.languages
        model = ServedModel(engine, languages, self.source.glossary)
        engine.warm_up()
        return model

    async def check_folder(self):
        """Loads the newest version that works, unless it is the current one."""
        folders = self.source.versions()
        for number in sorted(folders, reverse=True):
            if self.is_to_be_loaded(number, folders[number]):
                with contextlib.suppress(Exception):
                    return await self.switch_to(number, folders[number])
            if self.current and number == self.current.number:
                return  # an older version is loaded only if this one is removed

    def is_to_be_loaded(self, number, folder):
        """Whether a version is complete, differs from the current one, and is due to be tried."""
        try:
            files = self.files_of(folder)
        except OSError:  # just removed
            return False
        before, self.seen[number] = self.seen.get(number), files
        if files != before:
            return False  # perhaps still being written
        if self.current and (number, files) == (self.current.number, self.current.files):
            return False
        broken, _, again = self.failures.get(number, NO_FAILURE)
        return files != broken or asyncio.get_running_loop().time() >= again

    def files_of(self, folder):
        """Returns `files_in` of a version, and the same of the glossary, if it is there."""
        glossary = self.source.glossary
        return files_in(folder) + files_at([glossary] if glossary and glossary.is_file() else [])

    def find(self, number=None):
        """Returns the `Version` with a number, by default the current one."""
        if self.current is None:
            reason = "cannot be loaded; the server's log has the reason"
            raise Refusal(
                503, f"Model {self.name!r} {'is still loading' if self.is_starting else reason}"
            )
        if number not in (None, self.current.number):
            raise Refusal(
                404,
                f"Version {number} of model {self.name!r} is not loaded. "
                f"Available: {self.current.number}",
            )
        return self.current

    def status(self, number=None):
        """Returns the status of one version, or of all, as TensorFlow Serving reports it."""
        versions = [each for each in self.known.values() if number in (None, each.number)]
        if not versions:
            raise Refusal(404, f"Could not find version {number} of model {self.name!r}")
        return {
            "model_version_status": [
                {
                    "version": str(version.number),
                    "state": version.state,
                    "status": {
                        "error_code": "UNKNOWN" if version.error else "OK",
                        "error_message": version.error,
                    },
                }
                for version in sorted(versions, key=lambda version: -version.number)
            ]
        }


def described(languages):
    """Returns the languages of a version for the log."""
    if languages:
        return ", from {} to {}".format(*languages.names)
    return "; not at /translate, because its languages are not known: name it, as in en-de=RUN"


def files_in(folder):
    """Returns the path, size and modification time of each file in a folder."""
    paths = (os.path.join(parent, file) for parent, _, files in os.walk(folder) for file in files)
    return files_at(sorted(paths))


def files_at(paths):
    found = ((path, os.stat(path)) for path in paths)
    return tuple((path, status.st_size, status.st_mtime_ns) for path, status in found)
