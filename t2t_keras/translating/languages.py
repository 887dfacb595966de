"""The source and the target language of a model, as its files record them."""

import re
from typing import NamedTuple

from pipelines.atomic_files import read_json
from pipelines.languages.language_codes import code_of as code_of
from pipelines.languages.language_codes import language_name as language_name
from pipelines.languages.language_codes import normalized

RECORDS = ("config.json", "export.json")  # of a run, and of a version of an export
KEY = "languages"  # key in each of these files


class Languages(NamedTuple):
    """The languages of a model, as codes such as "en" and "pt-BR"."""

    source: str
    target: str

    @classmethod
    def parse(cls, pair):
        """Returns the languages in a text such as "en-de", "en,de" or "pt-BR,en"."""
        parts = pair.split("," if "," in pair else "-")
        if len(parts) != 2:
            raise ValueError(
                "two languages must be given by their codes, such as en-de, or pt-BR,en where a "
                f"code has a hyphen. Received: {pair[:80]!r}"
            )
        return cls(*map(normalized, parts))

    @property
    def names(self):
        """The English names, such as ("English", "German")."""
        return tuple(map(language_name, self))


def languages_in(contents):
    """Returns the `Languages` in the contents of a record, or None if it has none."""
    found = contents.get(KEY)
    try:
        return Languages(*map(normalized, found))
    except (TypeError, ValueError):  # absent, or written by hand
        return None


def languages_of(folder):
    """Returns the `Languages` that a run or a version of an export, a `Path`, records, or None."""
    for name in RECORDS:
        if (folder / name).is_file():
            found = languages_in(read_json(folder / name))
            if found:
                return found
    return None


def languages_in_name(name):
    """Returns the `Languages` in a name such as `en-de` or `opus-mt-en-de`, or None."""
    found = re.fullmatch(r"(?:opus-mt-(?:[\w.]+-)*)?([A-Za-z]{2})-([A-Za-z]{2})", name)
    if found is None or any(language_name(code) == code for code in found.groups()):
        return None
    return Languages(*map(normalized, found.groups()))
