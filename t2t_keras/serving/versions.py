"""The versions of a model: numbered folders, of which the newest answers.

A newer one is loaded and warmed up beside the one that answers, takes its place at once, and the
old one goes when its last request is answered. Should the newest folder go, the one before it
comes back.
"""

import asyncio
import contextlib
import gc

from absl import logging

from t2t_keras.serving.batching import Batcher
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.models import Model

EVERY = 1.0  # seconds between looks at the folder


def versions_in(folder):
    """The numbered folders in a folder, by their numbers."""
    if not folder.is_dir():
        return {}
    return {
        int(path.name): path
        for path in folder.iterdir()
        if path.name.isascii() and path.name.isdecimal() and path.is_dir()
    }


class Version:
    """One version, from the first thought of it to its end.

    Args:
        number: the name of its folder.
    """

    def __init__(self, number):
        self.number, self.state, self.error = number, "LOADING", ""
        self.model, self.batchers = None, {}
        self.in_hand, self.retired = 0, False

    def begin(self, model, workers):
        self.model, self.state = model, "AVAILABLE"
        self.batchers = {
            name: Batcher(signature, workers) for name, signature in model.signatures.items()
        }

    @contextlib.contextmanager
    def used(self):
        """Keeps the version in memory while a request needs it."""
        self.in_hand += 1
        try:
            yield self
        finally:
            self.in_hand -= 1
            self.end_if_unused()

    def retire(self):
        self.retired, self.state = True, "UNLOADING"
        self.end_if_unused()

    def end_if_unused(self):
        if not self.retired or self.in_hand or self.state == "END":
            return
        for batcher in self.batchers.values():
            batcher.close()
        self.model, self.batchers, self.state = None, {}, "END"
        gc.collect()  # a model is full of cycles, and large
        logging.info("Version %d has gone", self.number)


class Versions:
    """The versions in a folder.

    Args:
        name: of the model.
        folder: where the numbered folders lie.
        workers: `Workers`.
        load: makes a `Model` of a folder.
    """

    def __init__(self, name, folder, workers, load=Model):
        self.name, self.folder, self.workers, self.load = name, folder, workers, load
        self.known = {}  # a Version for each number that was ever taken up
        self.current, self.failed = None, set()

    async def begin(self):
        """Takes up the newest version that can be loaded; the watch has an eye on the others."""
        first = None
        for number, folder in sorted(versions_in(self.folder).items(), reverse=True):
            try:
                return await self.take_up(number, folder)
            except Exception as error:
                first = first or ValueError(f"{folder} is no model that can be served: {error}")
        raise first or ValueError(f"{self.folder} has no version any more")

    async def take_up(self, number, folder):
        """Loads a version and lets it answer; raises what goes wrong, and then nothing changes."""
        version = self.known[number] = Version(number)
        logging.info("Loading version %d", number)
        try:
            model = await asyncio.to_thread(self.warmed_up, folder)
            version.begin(model, self.workers)
        except Exception as error:
            version.state, version.error = "END", "It can not be loaded"
            self.failed.add(number)
            logging.warning("Version %d stays out: %s", number, error)
            raise
        before, self.current = self.current, version
        self.workers.metrics.version.set(number)
        logging.info("Version %d answers", number)
        if before:
            before.retire()

    def warmed_up(self, folder):
        model = self.load(folder)
        model.warm_up()
        return model

    async def watch(self):
        """Takes up whatever becomes the newest; one that can not be loaded is tried once."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                folders = versions_in(self.folder)
            except OSError:
                continue  # a disk may be away for a moment
            self.failed &= set(folders)  # whatever has gone may be made anew
            newest = max(set(folders) - self.failed, default=self.current.number)
            if newest != self.current.number:
                with contextlib.suppress(Exception):
                    await self.take_up(newest, folders[newest])

    def find(self, name, number=None):
        """The version that a request names, or the one that answers."""
        self.check_name(name)
        if number is None:
            if self.current is None:
                raise Refusal(503, f"Model {name!r} is being loaded")
            return self.current
        if self.current is None or number != self.current.number:
            has = f". It has: {self.current.number}" if self.current else ""
            raise Refusal(404, f"Model {name!r} has no version {number} that answers{has}")
        return self.current

    def check_name(self, name):
        if name != self.name:
            raise Refusal(404, f"There is no model {name[:80]!r}. There is: {self.name!r}")

    def status(self, name, number=None):
        """What TensorFlow Serving tells of each version, or of one."""
        self.check_name(name)
        found = [each for each in self.known.values() if number in (None, each.number)]
        if not found:
            raise Refusal(404, f"Could not find version {number} of model {name!r}")
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
                for version in sorted(found, key=lambda version: -version.number)
            ]
        }
