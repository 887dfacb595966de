"""The models of a server, each with the newest version in its numbered folders.

A newer version is loaded and warmed up while the current one still serves, and then replaces it.
The old version is unloaded after its last request. If the newest folder is removed, the version
before it is loaded again. A version whose files change is loaded again after the last change.
"""

import asyncio
import contextlib
import ctypes
import gc
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from absl import logging

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.model import ServedModel
from t2t_keras.translating.exports import open_export
from t2t_keras.translating.languages import Languages

POLL_SECONDS = 1.0  # interval of checks; a version that changes between two checks is incomplete
RETRY_SECONDS = 60.0  # time after which a broken version is tried again
UNKNOWN = ". /translate does not offer it: its languages are unknown. Name it, as in en-de=RUN"


class ModelSource(NamedTuple):
    """Where the versions of a model are."""

    name: str
    find: Callable  # returns {number: folder} of the versions that exist now
    load: Callable = open_export  # takes the folder of a version and returns an `Engine`
    languages: Languages | None = None  # of versions that do not record theirs
    glossary: Path | None = None  # of requests without their own; part of the version's files


class Version:
    """One version, from loading to unloading. Its number is the name of its folder.

    Attributes:
        model: the `ServedModel` while it is available, or still has requests.
        files: its files when it was last tried. None: it may be loaded at any time.
        again: time when it is tried again even if its files have not changed.
    """

    def __init__(self, number, model=None):
        self.number, self.model = number, model
        self.state, self.error = "AVAILABLE" if model else "LOADING", ""
        self.files, self.again, self.in_flight = None, math.inf, 0

    @contextlib.contextmanager
    def in_use(self):
        """Keeps the version in memory during a request."""
        self.in_flight += 1
        try:
            yield self
        finally:
            self.in_flight -= 1
            self.unload_if_unused()

    def status(self):
        """Returns the status as TensorFlow Serving reports it."""
        error = {"error_code": "UNKNOWN" if self.error else "OK", "error_message": self.error}
        return {"version": str(self.number), "state": self.state, "status": error}

    def retire(self):
        self.state, self.files = "UNLOADING", None
        self.unload_if_unused()

    def unload_if_unused(self):
        if self.state == "UNLOADING" and not self.in_flight:
            self.model, self.state = None, "END"
            gc.collect()  # a model is large and full of reference cycles
            if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
                trim(0)  # returns free memory to the system
            logging.info("Version %d is unloaded", self.number)


class Versions:
    """The versions of a `ModelSource`."""

    def __init__(self, source, metrics):
        self.name, self.source, self.metrics = source.name, source, metrics
        metrics.version.labels(self.name).set(0)
        self.known = {}  # {number: `Version`} for all versions that were loaded or tried
        self.current = None
        self.is_starting = True  # until all versions that exist at the start were tried
        self.seen = {}  # {number: files at the last check of the folder}

    async def update(self):
        """Loads the newest version that works, unless it is the current one.

        The first time, raises an error if none works.
        """
        first_error = None
        try:
            for number, folder in sorted(self.source.find().items(), reverse=True):
                if self.is_starting or self.is_due(number, folder):
                    try:
                        return await self.switch_to(number, folder)
                    except Exception as error:
                        wrong = ValueError(f"{folder} cannot be served: {error}")
                        first_error = first_error or wrong
                if self.current and number == self.current.number:
                    return  # an older version is loaded only if this one is removed
            if self.is_starting:
                raise first_error or ValueError(f"model {self.name} no longer has a version")
        finally:
            self.is_starting = False

    async def switch_to(self, number, folder):
        """Loads a version and makes it current. If that fails, raises and keeps the current one."""
        version = Version(number)
        if self.current is None or number != self.current.number:
            self.known[number] = version
        tried = self.known[number]
        tried.files = self.files_of(folder)
        tried.again = asyncio.get_running_loop().time() + RETRY_SECONDS
        logging.info("Loading version %d of %s", number, self.name)
        try:
            version.model = await asyncio.to_thread(self.load_and_warm_up, folder)
        except Exception as error:
            version.state, version.error = "END", "Loading failed; the server's log has the reason"
            logging.warning(
                "Version %d of %s cannot be loaded and is skipped: %s. It is tried again in a "
                "minute, or when its files change",
                *(number, self.name, error),
            )
            raise
        version.state, version.files, version.again = "AVAILABLE", tried.files, math.inf
        before, self.current, self.known[number] = self.current, version, version
        if before:
            before.retire()
        self.metrics.serves(self.name, number, version.model.engine)
        languages = version.model.languages
        known = languages and ", from {} to {}".format(*languages.names)
        logging.info("Version %d of %s is serving%s", number, self.name, known or UNKNOWN)

    def load_and_warm_up(self, folder):
        engine = self.source.load(folder)
        languages = engine.languages() or self.source.languages
        model = ServedModel(engine, languages, self.source.glossary)
        engine.warm_up()
        return model

    def is_due(self, number, folder):
        """Whether a version is complete, and differs from the last one tried, or is tried again."""
        try:
            files = self.files_of(folder)
        except OSError:  # just removed
            return False
        before, self.seen[number] = self.seen.get(number), files
        if files != before:  # perhaps it is still being written
            return False
        tried = self.known.get(number, Version(number))
        return files != tried.files or asyncio.get_running_loop().time() >= tried.again

    def files_of(self, folder):
        """Returns the path, size and time of each file of a version, and of the glossary."""
        paths = sorted(path for path in Path(folder).rglob("*") if not path.is_dir())
        if self.source.glossary and self.source.glossary.is_file():
            paths.append(self.source.glossary)
        found = ((str(path), os.stat(path)) for path in paths)
        return tuple((path, status.st_size, status.st_mtime_ns) for path, status in found)

    @property
    def languages(self):
        """The `Languages` of the current version, or None."""
        return (self.current.model if self.current else self.source).languages

    @property
    def pairs(self):
        """`ServedModel.pairs` of the current version; until one is loaded, of its source."""
        if self.current:
            return self.current.model.pairs
        return {tuple(self.languages): None} if self.languages else {}

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
        numbers = sorted((each for each in self.known if number in (None, each)), reverse=True)
        if not numbers:
            raise Refusal(404, f"Could not find version {number} of model {self.name!r}")
        return {"model_version_status": [self.known[each].status() for each in numbers]}


class ServedModels:
    """The models of a server, given a `ModelSource` for each, with different names."""

    def __init__(self, sources, metrics):
        self.all = {each.name: Versions(each, metrics) for each in sources}

    def named(self, name):
        """Returns the `Versions` of a model."""
        if name not in self.all:
            known = ", ".join(map(repr, self.all))
            raise Refusal(404, f"Unknown model {name[:80]!r}. Available: {known}")
        return self.all[name]

    @property
    def languages(self):
        """(name, `Languages` or None) of each model."""
        return [(name, each.languages) for name, each in self.all.items()]

    async def start(self, started):
        """Loads a version of each model; calls `started` with each model's name and version.

        Raises the first error if no model can be loaded.
        """
        errors = []
        for name, model in self.all.items():
            try:
                await model.update()
                started(name, model.current.number)
            except (ValueError, OSError) as error:
                errors.append(error)
                if len(self.all) > 1:
                    logging.error("Model %s is not served: %s", name, error)
        if len(errors) == len(self.all):
            raise errors[0]

    async def watch(self):
        """Switches each model to its newest version whenever it changes."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            for model in self.all.values():
                # The disk may be unavailable for a moment, and a record be half written.
                with contextlib.suppress(OSError, ValueError):
                    await model.update()

    def check_started(self):
        """Refuses requests about all models while some are still loading for the first time."""
        for model in self.all.values():
            if model.is_starting:
                raise Refusal(503, f"Model {model.name!r} is still loading")

    def targets(self):
        """Returns {language: the languages that it is translated into}, of all known languages."""
        targets = {}
        for source, target in self.pairs():
            targets.setdefault(source, set()).add(target)
            targets.setdefault(target, set())
        return targets

    def pairs(self):
        """Returns {pair of languages: (`Versions`, item of `pairs`)}, preferring loaded ones."""
        found = {}
        for model in sorted(self.all.values(), key=lambda each: each.current is None):
            for pair, how in model.pairs.items():
                found.setdefault(pair, (model, how))
        return found
