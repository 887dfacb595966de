"""Reads the terms of two languages from a termbase in TBX, the XML format of ISO 30042.

TBX of 2008 has elements `termEntry`, `langSet`, `tig` and `ntig`; TBX of 2019 (version 3) has
`conceptEntry`, `langSec` and `termSec`. Each source term of a concept gets the concept's first
preferred target term, or else its first one. Deprecated and superseded terms are skipped. If a
source term belongs to several concepts, the first concept with a target term applies.

Files come from strangers, so entity declarations are refused, and nothing outside the file is read.
"""

import io
from xml.etree import ElementTree

from pipelines.languages.language_codes import best_match, code_of

CONCEPTS = {"termEntry", "conceptEntry"}
LANGUAGES = {"langSet", "langSec"}
TERMS = {"tig", "ntig", "termSec"}
STATUSES = {"administrativeStatus", "normativeAuthorization"}
REJECTED = ("deprecated", "superseded")  # beginnings of a term's status
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


class LineError(ValueError):
    """An error in the line of a file that has the number `line`."""

    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


def entries_in_tbx(contents, languages):
    """Yields (None, source term, target term) of a termbase; None is for an unknown line.

    For the arguments, see `glossary_files.entries_in`.
    """
    if languages is None:
        raise ValueError(
            "a termbase (TBX) has terms of several languages, and the languages of the model are "
            "not recorded. Export the model with t2t-export --languages=SOURCE,TARGET, or save the "
            "terms as CSV with two columns"
        )
    known, present, is_empty = set(), set(), True
    for concept in concepts_in(contents):
        present |= concept.keys()
        found = (best_match([*concept], language) for language in languages)
        sources, targets = ([] if at is None else [*concept.values()][at] for at in found)
        targets = sorted(targets, key=lambda term: not term[1].startswith("preferred"))
        for source, _ in sources if targets else []:
            is_empty = False
            if source not in known:
                known.add(source)
                yield None, source, targets[0][0]
    if is_empty:
        raise ValueError(
            f"no concept has terms in both {' and '.join(languages)}. The terms are in "
            f"{', '.join(sorted(present)) or 'no language'}"
        )


def concepts_in(contents):
    """Yields {language: list of (term, its status)} for each concept of a termbase in bytes."""
    if (at := contents.replace(b"\0", b"").find(b"<!ENTITY")) >= 0:
        raise LineError(
            contents.count(b"\n", 0, at) + 1,
            "declarations of entities are refused: write the characters themselves",
        )
    try:
        for _, element in ElementTree.iterparse(io.BytesIO(contents)):
            if name_of(element) in CONCEPTS:
                yield terms_of(element)
                element.clear()
    except ElementTree.ParseError as error:
        reason, line = str(error).partition(":")[0], error.position[0]
        raise LineError(line, f"is not well-formed XML ({reason})") from error


def name_of(element):
    """Returns the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def terms_of(concept):
    """Returns {language: list of (term, its status)}, without rejected terms, of an element."""
    terms = {}
    for section in concept:
        language = code_of(section.get(LANGUAGE)) if name_of(section) in LANGUAGES else None
        for group in section if language else ():
            term = group.find(".//{*}term") if name_of(group) in TERMS else None
            text = " ".join("".join(term.itertext()).split()) if term is not None else ""
            notes = (each for each in group.iter() if {name_of(each), each.get("type")} & STATUSES)
            status = next(("".join(note.itertext()).strip() for note in notes), "")
            if text and not status.startswith(REJECTED):
                terms.setdefault(language, []).append((text, status))
    return terms
