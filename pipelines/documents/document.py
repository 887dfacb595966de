"""`Document`: a file's text with places for translations.

Every kind of document is read in the same way: its reader finds the stretches that a person reads,
by their offsets in the file, and these stretches alone are replaced. A stretch whose translation
equals its source is not even rewritten, so a document that a translator leaves alone keeps every
byte.
"""

import bisect
import codecs
import contextlib
import dataclasses
import html
import itertools
import operator
import re
from collections import Counter
from typing import NamedTuple

from pipelines.markup.placeholders import NOT_XML

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings that XML, HTML and PO files declare.
DECLARED = re.compile(
    rb"(?:\A<\?xml[^>]*?\sencoding|<meta[^>]*?\bcharset|^\"Content-Type:[^\n\"]*?\bcharset)"
    rb"\s*=\s*[\"']?([\w.-]+)",
    re.M | re.I,
)
HOLDER = r"\{__\d{1,9}__\}"  # a placeholder for markup
TAG = re.compile(r"</?[A-Za-z](?:\"[^\"]*\"|'[^']*'|[^<>\"'])*>")


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


@dataclasses.dataclass(frozen=True)
class Options:
    """Options for reading documents.

    Args:
        source, target: language codes such as "en" and "de", which some formats name. "": unknown.
        column: column of a CSV or TSV document to translate: its name or number.
        retranslate: also translate the segments of a document that have a translation.
        final: mark the translations in XLIFF and PO as final, not as in need of review.
    """

    source: str = ""
    target: str = ""
    column: str = ""
    retranslate: bool = False
    final: bool = False


class Document:
    """A file's text, and the places in it to which translations are written.

    Args:
        data: the file's bytes.

    Attributes:
        text: the decoded file.
        skipped: {reason: number of texts that are left untranslated}.
    """

    def __init__(self, data):
        self.text, self.encode = decoded(data)
        self.places, self.skipped = [], Counter()

    def add(self, start, end, unit, written, keeps=True):
        """Adds a place: a stretch of the text. One inside another is written only by `between`.

        Args:
            unit: a `Unit`, or None if there are no letters to translate.
            written: function of the translation that returns the new text of the stretch.
            keeps: whether the stretch stays as it is if the translation equals the unit.
        """
        if unit:
            self.places.append((start, end, unit, written, keeps))
        else:
            self.skipped["without letters"] += 1

    def add_text(self, start, end, text=None, written=str, markup="placeholders"):
        """Adds a place, whose unit is its text in the file unless a text is given."""
        text = self.text[start:end] if text is None else text
        self.add(start, end, unit_of(text, markup), written)

    def replace(self, start, end, new):
        """Replaces a stretch that is not translated, such as the name of the language."""
        self.places.append((start, end, None, lambda _: new, False))

    def ordered(self):
        return sorted(self.places, key=lambda place: (place[0], place[1] > place[0], -place[1]))

    @property
    def units(self):
        """The units of the document, in order."""
        return [unit for _, _, unit, *_ in self.ordered() if unit]

    def write(self, translations):
        """Returns the bytes of the file with the translation of each of `units`."""
        given, self.changes = iter(translations), []
        for start, end, unit, written, keeps in self.ordered():
            new = next(given) if unit else ""
            if not keeps or new != unit.text:
                self.changes.append((start, end, written, new))
        try:
            return self.encode(self.between(0, len(self.text)))
        except UnicodeError as error:
            raise DocumentError(f"{error}. Convert the document to UTF-8 first") from None

    def between(self, start, end):
        """Returns a stretch of the text in which the places have their translations."""
        parts, at, begin = [], start, operator.itemgetter(0)
        first = bisect.bisect_left(self.changes, start, key=begin)
        last = bisect.bisect_right(self.changes, end, key=begin)
        for begin, close, written, new in self.changes[first:last]:
            if at <= begin and close <= end:
                parts += self.text[at:begin], written(new)
                at = close
        return "".join([*parts, self.text[at:end]])

    def joined(self, spans):
        """Returns the text of lines, given the (start, end) of each."""
        return " ".join(self.text[slice(*span)] for span in spans)

    def add_lines(self, spans, unit, restored=str, begins=None):
        """Adds a place whose translation is divided over lines, whose lengths are their shares.

        Args:
            spans: (start, end) of each line. Text between two lines stays.
            unit: the unit of the joined lines.
            restored: function of the translation that returns the text to divide.
            begins: pattern. If a line would begin with it, the text is not divided.
        """
        gaps = [self.text[one[1] : other[0]] for one, other in itertools.pairwise(spans)]

        def written(translation):
            text = restored(translation)
            if "\n" in text:  # line breaks that stay
                return text.replace("\n", [*gaps, "\n"][0])
            parts = divided(text, [end - start for start, end in spans])
            if begins and any(map(begins.match, parts[1:])):
                return text
            return "".join(map("".join, zip(parts, [*gaps, ""], strict=True)))

        self.add(spans[0][0], spans[-1][1], unit, written)


def held(text, pattern):
    """Replaces the matches of a pattern by placeholders, which a translation keeps.

    Returns:
        The text, and a function that restores the matches in its translation.
    """
    pattern, index = re.compile(f"{pattern}|{HOLDER}"), itertools.count()
    found = [match[0] for match in pattern.finditer(text)]
    held_text = pattern.sub(lambda match: f"{{__{next(index)}__}}", text)
    return held_text, lambda new: re.sub(HOLDER, lambda match: found[int(match[0][3:-3])], new)


def has_letters(text):
    return any(map(str.isalpha, text))


def unit_of(text, markup):
    """Returns the `Unit` of a text, or None if it has no letters."""
    return Unit(text, markup) if has_letters(text) else None


def kind_of(text):
    """Returns the kind of markup in a text that may contain tags and entities of HTML."""
    return "html" if re.search(rf"{TAG.pattern}|&#?\w+;", text) else "placeholders"


def escaped(text):
    """Returns a string as XML text."""
    return html.escape(NOT_XML.sub("", text), quote=False)


def decoded(data):
    """Returns the text of a file, and the function that encodes such a text again."""
    mark, encoding = next((each for each in MARKS if data.startswith(each[0])), (b"", "utf-8"))
    if not mark and (found := DECLARED.search(data[:4096])):
        with contextlib.suppress(LookupError):  # such as CHARSET in templates of PO files
            "".encode(declared := found[1].decode())
            encoding = declared
    if b"\0" in data and "16" not in encoding:
        raise DocumentError("it is a binary file")
    text = data[len(mark) :].decode(encoding)
    errors = "xmlcharrefreplace" if text.lstrip().startswith("<") else "strict"
    return text, lambda text: mark + text.encode(encoding, errors)


def divided(text, sizes):
    """Divides a text between words into parts whose lengths have about the proportions `sizes`."""
    words, parts = text.split(" "), []
    ends = [*itertools.accumulate((len(word) + 1 for word in words), initial=-1)]
    sums, last = [*itertools.accumulate(sizes, initial=0)], len(words)
    for index in range(len(sizes) - 1, 0, -1):  # the first `last` words are of the parts up to it
        share = ends[last] * sums[index] / max(sums[index + 1], 1)
        cut = bisect.bisect_left(ends, share, 1, last)
        cut -= share - ends[cut - 1] <= ends[cut] - share
        cut = min(max(cut, index), max(last - 1, index), last)
        parts.append(" ".join(words[cut:last]))
        last = cut
    return [" ".join(words[:last]), *reversed(parts)]
