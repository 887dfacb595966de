"""Named sets of held-out text files for evaluation during training."""

import re
from typing import NamedTuple

from pipelines.text.file_lists import split_list
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
    if not isinstance(texts, tuple | list):
        raise wrong(setting, "a tuple of texts like NAME=SOURCE,TARGET", texts)
    sets = [parse_set(text, setting) for text in texts]
    names = [each.name.lower() for each in sets]  # some file systems ignore case
    for number, text in enumerate(texts):
        if names[number] in names[:number]:
            raise wrong(setting, "sets with different names", text)
    return sets


def parse_set(text, setting):
    name, _, files = text.partition("=") if isinstance(text, str) else ("", "", "")
    parts = split_list(files)  # the names of existing files may contain commas
    parts = parts if len(parts) > 1 else files.split(",")
    source, target, to = (*parts, None, None)[:3]
    if not (name and source and target) or to == "" or len(parts) > 3:
        allowed = "NAME=SOURCE,TARGET, such as mine=dev.en,dev.de, or NAME=SOURCE,TARGET,TO"
        raise wrong(setting, allowed, text)
    if not NAME.fullmatch(name):
        allowed = (
            "letters (A to Z), digits, '_', '-' and '.', and begins with a letter, digit or '_'"
        )
        raise wrong(setting, f"NAME=SOURCE,TARGET with a name that has only {allowed}", text)
    if name.lower() in RESERVED:
        allowed = f"NAME=SOURCE,TARGET with a name other than {', '.join(RESERVED)}"
        raise wrong(setting, allowed, text)
    return HeldOutFiles(name, source, target, to)


def wrong(setting, allowed, value):
    return ValueError(f"`{setting}` must be {allowed}. Received: {setting}={value!r}")
