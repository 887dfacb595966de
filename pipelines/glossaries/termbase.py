"""Reads the terms of two languages from a termbase in TBX, the XML format of ISO 30042.

TBX of 2008 has elements `termEntry`, `langSet`, `tig` and `ntig`; TBX of 2019 (version 3) has
`conceptEntry`, `langSec` and `termSec`. Each source term of a concept gets the concept's first
preferred target term, or else its first one. Deprecated and superseded terms are skipped. If a
source term belongs to several concepts, the first concept with a target term applies.

Files come from strangers, so entity declarations are refused, and nothing outside the file is read.
"""

from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from pipelines.checks import LineError
from pipelines.languages.language_codes import best_match, normalized

CONCEPTS = {"termEntry", "conceptEntry"}
LANGUAGES = {"langSet", "langSec"}
TERMS = {"tig", "ntig", "termSec"}
STATUSES = {"administrativeStatus", "normativeAuthorization"}
REJECTED = ("deprecated", "superseded")  # beginnings of a term's status
DEEPEST = 100  # maximum nesting of elements
LINE = "line"  # attribute that is added to each element: its line in the file


class Entry(NamedTuple):
    """A term of a concept.

    Args:
        language: code of its language.
        line: line of the file.
        text: the term.
        status: such as "preferredTerm-admn-sts", or "".
    """

    language: str
    line: int
    text: str
    status: str


def entries_in_tbx(contents, languages):
    """Yields (line number, source term, target term) of a termbase.

    Args:
        contents: bytes of the file.
        languages: see `glossary_files.entries_in`.
    """
    if languages is None:
        raise ValueError(
            "a termbase (TBX) has terms of several languages, and the languages of the model are "
            "not recorded. Export the model with t2t-export --languages=SOURCE,TARGET, or save the "
            "terms as CSV with two columns"
        )
    known, present, count = set(), set(), 0
    for concept in Concepts(contents).found:
        present |= {entry.language for entry in concept}
        sources, targets = (in_language(concept, language) for language in languages)
        targets = sorted(targets, key=lambda entry: not entry.status.startswith("preferred"))
        for entry in sources if targets else []:
            count += 1
            if entry.text not in known:
                known.add(entry.text)
                yield entry.line, entry.text, targets[0].text
    if not count:
        raise ValueError(
            f"no concept has terms in both {' and '.join(languages)}. The terms are in "
            f"{', '.join(sorted(present)) or 'no language'}"
        )


def in_language(concept, language):
    """Returns the accepted terms of a concept in the variant of a language that fits best."""
    accepted = [entry for entry in concept if not entry.status.startswith(REJECTED)]
    index = best_match([entry.language for entry in accepted], language)
    if index is None:
        return []
    return [entry for entry in accepted if entry.language == accepted[index].language]


class Concepts:
    """Collects the concepts of a termbase, each a list of its `Entry`s, while it is parsed.

    Args:
        contents: bytes of the file.
    """

    def __init__(self, contents):
        self.found, self.open = [], []  # open: names of the open elements
        self.builder, self.depth = None, 0  # of the current concept
        self.parser = expat.ParserCreate(encoding_of(contents))
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.parser.SkippedEntityHandler = self.entity
        try:
            self.parser.Parse(contents, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise LineError(error.lineno, f"is not well-formed XML ({reason})") from error

    def start(self, name, attributes):
        self.open.append(name.rpartition(":")[2])
        if len(self.open) > DEEPEST:
            raise self.error(f"elements are nested more than {DEEPEST} deep")
        if self.builder is None and self.open[-1] in CONCEPTS:
            self.builder, self.depth = ElementTree.TreeBuilder(), len(self.open)
        if self.builder is not None:
            line = str(self.parser.CurrentLineNumber)
            self.builder.start(self.open[-1], {**attributes, LINE: line})

    def end(self, name):
        name = self.open.pop()
        if self.builder is not None:
            self.builder.end(name)
            if len(self.open) < self.depth:
                self.found.append([*entries_of(self.builder.close())])
                self.builder = None

    def characters(self, text):
        if self.builder is not None:
            self.builder.data(text)

    def entity(self, name, *_):
        raise self.error(
            f"the entity {str(name)[:40]!r} is refused: write the characters themselves"
        )

    def error(self, message):
        return LineError(self.parser.CurrentLineNumber, message)


def encoding_of(contents):
    """Returns "utf-8", whatever the file declares, or None if it is declared and not UTF-8."""
    try:
        contents.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"


def entries_of(concept):
    """Yields the `Entry`s of a concept, given as an element."""
    for section in concept:
        language = known_language(section.get("xml:lang")) if section.tag in LANGUAGES else None
        for group in section if language else ():
            term = next(group.iter("term"), None) if group.tag in TERMS else None
            text = " ".join("".join(term.itertext()).split()) if term is not None else ""
            if text:
                yield Entry(language, int(term.get(LINE)), text, status_of(group))


def status_of(group):
    """Returns the status of a term, such as "preferredTerm-admn-sts", or an empty string."""
    for element in group.iter():
        if element.tag in STATUSES or element.get("type") in STATUSES:
            return "".join(element.itertext()).strip()
    return ""


def known_language(code):
    try:
        return normalized(code)
    except ValueError:
        return None
