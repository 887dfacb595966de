"""The sources of text by name, and those that a plug-in file adds.

An entry of `SOURCES` is a function of one text, the argument, that returns an iterable of pairs.
For a plug-in file, a generator of (source, target) suffices:

    from pipelines.preparation.source_table import SOURCES

    def shelf(path):
        for title, translation in read_my_format(path):
            yield title, translation

    SOURCES["shelf"] = shelf
"""

import contextlib
import json

from pipelines.checks import SourceError, failure_of, nearest
from pipelines.registry import Registry
from pipelines.text.sources import Pairs, TabSeparatedFile
from pipelines.text.treebank import TreebankPairs
from pipelines.toy.documents import ToyDocuments


def tfds_pairs(name, **options):
    from pipelines.text.tfds_source import TfdsPairs  # loads TensorFlow

    return TfdsPairs(name, **options)


# {name: function that makes the source}. t2t-prepare has a flag of the same name for each source in
# this package, with further flags for its other arguments.
SOURCES = Registry(
    "SOURCES",
    None,
    {
        "pairs": TabSeparatedFile,
        "tfds": tfds_pairs,
        "treebank": TreebankPairs,
        "toy_documents": ToyDocuments,
    },
)


def own_source(text):
    """Returns the `OwnSource` for "NAME:ARGUMENT"."""
    name, colon, argument = text.partition(":")
    if name in SOURCES.built_in:
        raise ValueError(f"--source={text}: this source has its own flag, --{name}")
    if not colon or name not in SOURCES:
        own = SOURCES.own()
        raise ValueError(
            "--source without --target must be NAME:ARGUMENT, with a NAME that a plug-in file, "
            f"--imports=FILE, added to SOURCES: {', '.join(own) or 'there are none'}"
            f"{nearest(name, own)}. Received: {text}"
        )
    return OwnSource(name, argument)


class OwnSource(Pairs):
    """The pairs of a source from a plug-in file. They are read more than once.

    The iterable may also have `fingerprint()`, which changes when the text changes; otherwise, all
    pairs are read for a digest. It may have `languages`, the codes of both sides, and `symbols()`,
    words that remain one piece.

    Args:
        name: a name in `SOURCES`.
        argument: the argument of its function.
    """

    def __init__(self, name, argument):
        super().__init__(lambda: SOURCES[name](argument))
        self.entry, self.name = name, f"{name}:{argument}"
        with self.failures_named():
            self.made = self.pairs()
        self.languages = getattr(self.made, "languages", None)

    def __iter__(self):
        with self.failures_named() as done:
            for done[0], pair in enumerate(super().__iter__(), start=1):
                yield pair

    def fingerprint(self):
        """Returns the name of the source, and its own fingerprint or a digest of the pairs."""
        if not hasattr(self.made, "fingerprint"):
            return {"source": self.entry, **super().fingerprint()}
        with self.failures_named():
            own = json.loads(json.dumps(self.made.fingerprint()))
        return {"source": self.name, "fingerprint": own}

    def symbols(self):
        """Returns the words that the vocabulary keeps as one piece."""
        with self.failures_named():
            return self.made.symbols() if hasattr(self.made, "symbols") else ()

    @contextlib.contextmanager
    def failures_named(self):
        """Turns errors of the plug-in file into a `SourceError`. Yields [number of pairs read]."""
        done = [0]
        try:
            yield done
        except SourceError as error:
            raise SourceError(f"The source {self.name}: {error}") from error
        except (Exception, SystemExit) as error:
            place = f" at pair {done[0] + 1:,}" if done[0] else ""
            failure = failure_of(error)
            raise SourceError(f"The source {self.name} failed{place}: {failure}") from error
