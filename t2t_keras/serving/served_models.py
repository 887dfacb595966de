"""The models of a server. Each has its own versions; all share the workers and the limits."""

import asyncio
import contextlib

from absl import logging

from t2t_keras.serving import versions
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.versions import Versions


class ServedModels:
    """The models of a server.

    Args:
        sources: a `ModelSource` for each model, with different names.
        metrics: the `Metrics`.
    """

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
        """Loads a version of each model. Raises the first error if no model can be loaded.

        Args:
            started: called with the name of each model and the number of its version.
        """
        errors = []
        for name, model in self.all.items():
            try:
                await model.start()
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
            await asyncio.sleep(versions.POLL_SECONDS)
            for model in self.all.values():
                # The disk may be unavailable for a moment, and a record be half written.
                with contextlib.suppress(OSError, ValueError):
                    await model.update()

    def check_started(self):
        """Refuses requests about all models while some are still loading for the first time."""
        for model in self.all.values():
            if model.is_starting:
                raise Refusal(503, f"Model {model.name!r} is still loading")

    def pair(self, source, target):
        """Returns the `Version` and the `Pair` that translate between two languages, or None."""
        for model in sorted(self.all.values(), key=lambda each: each.current is None):
            if (source, target) in model.pairs:
                return model.find(), model.pairs[source, target]
        return None

    def targets(self):
        """Returns {language: the languages that it is translated into}, of all known languages."""
        targets = {}
        for model in sorted(self.all.values(), key=lambda each: each.current is None):
            for source, target in model.pairs:
                targets.setdefault(source, set()).add(target)
                targets.setdefault(target, set())
        return targets
