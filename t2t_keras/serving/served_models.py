"""The models of a server. Each has its own versions; all share the workers and the limits."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from absl import logging

from t2t_keras.serving import versions
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.versions import Versions
from t2t_keras.translating.exports import open_export, versions_in
from t2t_keras.translating.languages import Languages, languages_of


class ModelSource(NamedTuple):
    """Where the versions of a model are.

    Args:
        name: name of the model.
        folder: the folder with the versions.
        load: function that takes the folder of a version and returns an `Engine`.
        find: function that takes `folder` and returns {number: folder of the version}.
        languages: the `Languages` of versions that do not record theirs, or None.
        glossary: path of the glossary of all requests without their own, or None. A change of the
            file counts as one of the version.
    """

    name: str
    folder: Path
    load: Callable = open_export
    find: Callable = versions_in
    languages: Languages | None = None
    glossary: Path | None = None

    def versions(self):
        """Returns {number: folder} of the versions that exist now."""
        return self.find(self.folder)


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
    def current(self):
        """The current versions of all models that have one, in the given order."""
        return [each.current for each in self.all.values() if each.current]

    @property
    def languages(self):
        """(name, `Languages` or None) of each model."""
        return [
            (name, (each.current.model if each.current else each.source).languages)
            for name, each in self.all.items()
        ]

    async def start(self, started):
        """Loads a version of each model. Raises the first error if no model can be loaded.

        Args:
            started: called with the name of each model and the number of its version.
        """
        first_error = None
        for name, model in self.all.items():
            try:
                await model.start()
                started(name, model.current.number)
            except (ValueError, OSError) as error:
                first_error = first_error or error
                if len(self.all) > 1:
                    logging.error("Model %s is not served: %s", name, error)
        if not self.current:
            raise first_error
        self.warn_of_equal_pairs()

    def warn_of_equal_pairs(self):
        """Warns of pairs of languages that several models translate."""
        first = {}
        for name, model in self.all.items():
            for pair in model.current.model.pairs if model.current else ():
                if first.setdefault(pair, name) != name:
                    logging.warning(
                        "Models %s and %s both translate %s-%s: /translate uses %s, because it was "
                        "given first",
                        *(first[pair], name, *pair, first[pair]),
                    )

    async def watch(self):
        """Switches each model to its newest version whenever it changes."""
        while True:
            await asyncio.sleep(versions.POLL_SECONDS)
            for model in self.all.values():
                # The disk may be unavailable for a moment, and a record be half written.
                with contextlib.suppress(OSError, ValueError):
                    await model.check_folder()

    def check_started(self):
        """Refuses requests about all models while some are still loading for the first time."""
        for model in self.all.values():
            if model.is_starting:
                raise Refusal(503, f"Model {model.name!r} is still loading")

    def pair(self, source, target):
        """Returns the `Version` and the `Pair` that translate between two languages, or None."""
        for version in self.current:
            if (source, target) in version.model.pairs:
                return version, version.model.pairs[source, target]
        for model in self.all.values():
            if model.current is None and model.source.languages == (source, target):
                model.find()  # refuses: it is not loaded
        return None

    def targets(self):
        """Returns {language: the languages that it is translated into}, of all known languages."""
        targets = {}
        pairs = [pair for version in self.current for pair in version.model.pairs]
        waiting = [each.source for each in self.all.values() if each.current is None]
        pairs += [tuple(source.languages) for source in waiting if source.languages]
        for source, target in pairs:
            targets.setdefault(source, set()).add(target)
            targets.setdefault(target, set())
        return targets


def newest_languages(versions):
    """Returns the `Languages` of the newest version, or None if they are not known.

    Args:
        versions: {number: path}. A damaged version is reported when it is loaded.
    """
    try:
        return languages_of(versions[max(versions)]) if versions else None
    except (OSError, ValueError):
        return None
