"""Named sets of held-out text files for evaluation during training."""

import re
from typing import NamedTuple

from pipelines.checks import SourceError, check, check_value
from pipelines.text.sources import TextFiles

SET = re.compile("(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)=([^,]+),([^,]+)(?:,([^,]+))?", re.DOTALL)
# Names that a set cannot have: they are TensorBoard folders or values of training.best_metric.
RESERVED = ("training", "held_out", "loss", "bleu")


class HeldOutFiles(NamedTuple):
    """The files of a held-out set.

    Args:
        name: name of the set, or "" for a single set without a name.
        source, target: see `TextFiles`.
        to: see `chosen_tag`.
    """

    name: str
    source: str
    target: str
    to: str | None = None

    def read(self):
        """Returns the pairs as a list of (source, target) strings."""
        try:
            lines = list(TextFiles(self.source, self.target))
            if not lines:
                raise SourceError(f"There is no text in {self.source} and {self.target}")
        except SourceError as error:
            if not self.name:
                raise
            raise SourceError(f"Held-out set {self.name!r}: {error}") from error
        return [tuple(side.decode("utf-8", "replace") for side in pair) for pair in lines]


def parse_sets(texts, setting="dev"):
    """Returns the `HeldOutFiles` for texts like "mine=dev.en,dev.de".

    Raises `ValueError`, with the name of the setting, for the first invalid text. The files need
    not exist.
    """
    check_value(setting, texts, tuple[str, ...])
    sets, form = {}, "NAME=SOURCE,TARGET"
    for text in texts:
        found = SET.fullmatch(text)
        key = found and found["name"].lower()  # some file systems ignore case
        check(
            found and key not in (*RESERVED, *sets),
            setting,
            text,
            f"{form}, such as mine=dev.en,dev.de, or {form},TO, each with its own NAME. A NAME has "
            "letters (A to Z), digits, '_', '-' and '.', begins with a letter, digit or '_', and "
            f"is none of {', '.join(RESERVED)}",
        )
        sets[key] = HeldOutFiles(found["name"], *filter(None, found.groups()[1:]))
    return list(sets.values())
