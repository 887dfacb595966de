"""Named sets of held-out text files for evaluation during training."""

import re
from typing import NamedTuple

from pipelines.text.sources import SourceError, TextFiles

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
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

    Raises `ValueError` for the first invalid text. The files need not exist.

    Args:
        texts: a tuple or a list.
        setting: name of the setting in messages.
    """

    def check(condition, allowed, value):
        if not condition:
            raise ValueError(f"`{setting}` must be {allowed}. Received: {setting}={value!r}")

    is_list = isinstance(texts, tuple | list) and all(isinstance(text, str) for text in texts)
    check(is_list, "a tuple of texts like NAME=SOURCE,TARGET", texts)
    sets, form = {}, "NAME=SOURCE,TARGET"
    for text in texts:
        name, _, files = text.partition("=")
        parts = files.split(",")
        is_complete = name and len(parts) in (2, 3) and all(parts)
        check(is_complete, f"{form}, such as mine=dev.en,dev.de, or {form},TO", text)
        allowed = (
            "letters (A to Z), digits, '_', '-' and '.', and begins with a letter, digit or '_'"
        )
        check(NAME.fullmatch(name), f"{form} with a name that has only {allowed}", text)
        key = name.lower()  # some file systems ignore case
        check(key not in RESERVED, f"{form} with a name other than {', '.join(RESERVED)}", text)
        check(key not in sets, "sets with different names", text)
        sets[key] = HeldOutFiles(name, *parts)
    return list(sets.values())
