"""`Template`: a file's text with places for translations.

Every kind of document is read in the same way: its reader finds the stretches that a person reads,
by their offsets in the file, and a `Template` replaces these stretches and nothing else. A
stretch whose translation equals its source is not even rewritten, so a document that a translator
leaves alone keeps every byte.
"""

import codecs
import re
from typing import NamedTuple

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"", "utf-8"),
)
HOLDER = re.compile(r"\{__(\d{1,9})__\}")
TAG = re.compile(r"</?[A-Za-z][^<>]*>")


class DocumentError(ValueError):
    """A file is not a document of its kind, or it cannot be translated safely."""


class Unit(NamedTuple):
    """A text of a document that is translated separately from the others.

    Args:
        text: one or more sentences.
        markup: kind of markup in the text that its translation keeps; see `Request`.
    """

    text: str
    markup: str = "placeholders"


def unit_of(text):
    """Returns the `Unit` of a text that may contain tags of HTML."""
    return Unit(text, "html" if TAG.search(text) else "placeholders")


class Options(NamedTuple):
    """Options for reading documents.

    Args:
        source, target: language codes such as "en" and "de", which some formats name. "": unknown.
        column: column to translate of a table in a CSV or TSV file: a name in its first row, or a
            number counted from 1.
        retranslate: whether units that already have a translation are translated again.
        final: whether new translations are marked as final, in formats with states. False: they
            are marked as in need of review.
    """

    source: str = ""
    target: str = ""
    column: str = ""
    retranslate: bool = False
    final: bool = False


class Place(NamedTuple):
    """Start and end of a stretch of a file's text, the units in it, and a function.

    `written` takes the list of the units' translations and returns the text for the stretch.
    """

    start: int
    end: int
    units: list
    written: object


class Template:
    """A text, as a string or as bytes, and the places in it to which translations are written.

    Args:
        text: the text.
        start, end: offsets of the stretch of the text that `write` returns. Default: all of it.

    Attributes:
        skipped: {reason: number of texts that are left untranslated}.
    """

    def __init__(self, text, start=0, end=None):
        self.text, self.start, self.end = text, start, len(text) if end is None else end
        self.places, self.skipped = [], {}

    def add(self, start, end, units, written):
        """Adds a `Place`, which must not overlap another."""
        self.places.append(Place(start, end, units, written))

    def add_text(self, start, end, text, written=lambda text: text, markup="placeholders"):
        """Adds a place with one unit, unless it has no letters. `written` takes its translation."""
        if has_letters(text):
            self.add(start, end, [Unit(text, markup)], lambda translations: written(*translations))

    def skip(self, reason, count=1):
        self.skipped[reason] = self.skipped.get(reason, 0) + count

    @property
    def units(self):
        """The units of the document, in order."""
        return [unit for place in self.ordered() for unit in place.units]

    def ordered(self):
        return sorted(self.places, key=lambda place: place[:2])

    def write(self, translations):
        """Returns the text with the translation of each of `units`."""
        written, at, taken = [], self.start, 0
        for start, end, units, write in self.ordered():
            own = translations[taken : taken + len(units)]
            taken += len(units)
            written.append(self.text[at:start])
            unchanged = units and start < end and own == [unit.text for unit in units]
            written.append(self.text[start:end] if unchanged else write(own))
            at = end
        written.append(self.text[at : self.end])
        return self.text[:0].join(written)


def first_holder(text):
    """Returns the first number of a placeholder such as {__0__} that the text does not have."""
    return 1 + max(map(int, HOLDER.findall(text)), default=-1)


def held(text, pattern):
    """Replaces the matches of a pattern by placeholders, which a translation keeps.

    Returns:
        The text, and a function that restores the matches in its translation.
    """
    first, found = first_holder(text), []

    def hold(match):
        found.append(match[0])
        return f"{{__{first + len(found) - 1}__}}"

    def restore(match):
        index = int(match[1]) - first
        return found[index] if 0 <= index < len(found) else match[0]

    return pattern.sub(hold, text), lambda translation: HOLDER.sub(restore, translation)


def has_letters(text):
    return any(map(str.isalpha, text))


def decoded(data):
    """Returns the text of a file, and the function that encodes such a text again."""
    mark, encoding = next(each for each in MARKS if data.startswith(each[0]))
    if b"\0" in data and "16" not in encoding:
        raise DocumentError("it is a binary file")
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"it is not encoded in UTF-8 or UTF-16: {error.reason} at byte {error.start:,}. "
            "Convert it with iconv"
        ) from None
    return text, lambda text: mark + text.encode(encoding)


def divided(text, sizes):
    """Divides a text between words into parts whose lengths have about the proportions `sizes`."""
    words, parts = text.split(" "), []
    for index, size in enumerate(sizes[:-1]):
        wanted = len(" ".join(words)) * size / max(sum(sizes[index:]), 1)
        count, length = 0, 0
        while count < len(words) - (len(sizes) - index - 1):
            longer = length + len(words[count]) + (count > 0)
            if count and abs(longer - wanted) > abs(length - wanted):
                break
            count, length = count + 1, longer
        parts.append(" ".join(words[:count]))
        words = words[count:]
    return [*parts, " ".join(words)]
