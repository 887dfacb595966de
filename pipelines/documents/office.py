"""DOCX, PPTX, XLSX, ODT, ODP and ODS: paragraphs in the XML parts of a ZIP file.

A paragraph is divided into runs of equal formatting. The formatting of most letters is the
paragraph's own; only text that differs from it gets a tag, so a translation has few tags to place.
"""

import re
from collections import Counter
from functools import partial
from typing import NamedTuple

from pipelines.documents.document import DocumentError, escaped
from pipelines.documents.inline import Inline
from pipelines.documents.xml_tree import Text, root_of


class Office(NamedTuple):
    """The elements of a kind of office document.

    Args:
        parts: pattern of the names of the parts that contain text.
        paragraphs: names of the elements that are translated one by one.
        run: name of an element with text of one formatting, and with its properties first. None:
            text stands in the paragraph itself.
        text: name of the element in a run that contains the text.
        kept: names of elements whose text stays, such as formulas or deleted text.
    """

    parts: str
    paragraphs: tuple
    run: str | None = None
    text: str | None = None
    kept: tuple = ()


WORD = Office(
    r"word/(document\d*|header\d*|footer\d*|footnotes|endnotes|comments|glossary/document)\.xml",
    ("p",),
    "r",
    "t",
    ("instrText", "delText", "del", "moveFrom", "oMath", "oMathPara"),
)
SLIDES = Office(
    r"ppt/((slides|notesSlides|comments)/[^/]+|diagrams/data\d*|charts/chart\d*)\.xml",
    ("p",),
    "r",
    "t",
    ("fld",),
)
SHEETS = Office(
    r"xl/(sharedStrings|(comments/)?comments?\d*|drawings/drawing\d+|charts/chart\d+|worksheets/[^/]+)\.xml",
    ("si", "is", "text", "p"),
    "r",
    "t",
    ("rPh",),
)
OPEN = Office(
    r"(.*/)?(content|styles)\.xml",
    ("p", "h"),
    kept=(
        "tracked-changes",
        "annotation-end",
        "script",
        "page-number",
        "page-count",
        "date",
        "note-citation",
        "time",
        "ruby-text",
    ),
)
# Elements between two runs that a new text makes obsolete.
OBSOLETE = ("proofErr", "lastRenderedPageBreak")
PROOFING = re.compile(
    r"<\w+:(lang|noProof)\b[^>]*/>|\s(lang|altLang|dirty|err)=(\"[^\"]*\"|'[^']*')"
)


def read_office(file, options, office):
    for name in file.parts:
        if re.fullmatch(office.parts, name):
            Paragraph(file.opened(name), office).search(root_of(file.documents[name]))
    if not file.documents:
        raise DocumentError("it has no part with text")
    keep_columns(file)


def keep_columns(file):
    """Removes names of table columns, which formulas and the table itself contain, from units."""
    tables = [
        file.opened(name) for name in file.parts if re.fullmatch(r"xl/tables/[^/]+\.xml", name)
    ]
    columns = [each for table in tables for each in root_of(table).find("tableColumn")]
    names = {escaped(each.attributes.get("name", "")) for each in columns}
    for document in file.documents.values() if names else ():
        kept = [each for each in document.places if each[2][0].text not in names]
        file.skipped["name of a table's column"] += len(document.places) - len(kept)
        document.places = kept


class Paragraph:
    """A paragraph as an `Inline` with tags for what differs in its formatting.

    Args:
        document: the `Document` of a part, to which the paragraph's place is added.
        office: its `Office`.
    """

    def __init__(self, document, office):
        self.document, self.office, self.source = document, office, document.text
        self.inline, self.letters = Inline(escaped), Counter()
        self.runs = {}  # {formatting: function that returns a text as a run}

    def search(self, element):
        """Adds the places of all paragraphs in an element."""
        if element.name in self.office.paragraphs and any(map(self.has_text, element.children)):
            Paragraph(self.document, self.office).add(element)
        elif element.name not in self.office.kept:
            for child in element.elements:
                self.search(child)

    def add(self, element):
        """Adds the place of the paragraph, and those of paragraphs in it, such as notes."""
        inside = self.inside(element)
        while len(inside) == 1 and self.is_wrapper(inside[0]):
            inside = self.inside(inside[0])
        self.fill(inside)
        if self.letters:  # the formatting of most letters needs no tag
            self.inline.escape = self.runs[self.letters.most_common(1)[0][0]]
        start, end = inside[0].start, inside[-1].end
        self.document.add(start, end, self.inline.units, self.inline.written)

    def inside(self, element):
        """Returns the children from the first with text to the last with text."""
        has_text = [*map(self.has_text, element.children)]
        first, end = has_text.index(True), len(has_text) - has_text[::-1].index(True)
        for child in element.children[:first] + element.children[end:]:
            if not isinstance(child, Text):
                self.search(child)
        return element.children[first:end]

    def has_text(self, node):
        """Returns whether a node contains text of this paragraph."""
        if isinstance(node, Text):
            return self.office.run is None
        if not node.name or node.name in (*self.office.kept, *self.office.paragraphs):
            return False
        if node.name == self.office.text:
            return bool(node.text)
        return any(map(self.has_text, node.children))

    def is_wrapper(self, node):
        names = self.office.run, self.office.text
        return not isinstance(node, Text) and node.name not in names and self.has_text(node)

    def fill(self, nodes):
        """Adds nodes to the `Inline`."""
        for node in nodes:
            if isinstance(node, Text):
                self.inline.text(node.text)
            elif self.is_wrapper(node):
                inner = self.inside(node)
                ends = (node.start, inner[0].start), (inner[-1].end, node.end)
                with self.inline.element(*(partial(self.document.between, *end) for end in ends)):
                    self.fill(inner)
            elif node.name == self.office.run and self.has_text(node):
                first, after = node.elements[0], self.source[node.after : node.end]
                has_properties = first.name == f"{node.name}Pr"
                before = self.source[node.start : first.end if has_properties else node.inside]
                for child in node.elements[has_properties:]:
                    self.fill_run(child, before, after)
            else:
                self.fill_run(node, "", "")

    def fill_run(self, node, before, after):
        """Adds the text or another part of a run, given the run's tags and properties."""
        if node.name != self.office.text or not node.text:
            if node.name not in OBSOLETE:
                between = self.document.between
                self.inline.code(lambda: before + between(node.start, node.end) + after)
                self.search(node)
            return
        opening = self.source[node.start : node.inside]
        if "preserve" not in opening and not opening.startswith("<a:"):  # spaces at its edges
            opening = opening[:-1] + ' xml:space="preserve">'
        opening, closing = before + opening, self.source[node.after : node.end] + after
        formatting = PROOFING.sub("", before.partition(">")[2])
        written = self.runs.setdefault(formatting, lambda text: opening + escaped(text) + closing)
        self.letters[formatting] += len(node.text)
        with self.inline.element("", "", written):
            self.inline.text(node.text)
