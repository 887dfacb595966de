"""DOCX, PPTX, XLSX, ODT, ODP and ODS: paragraphs in the XML parts of a ZIP file.

A paragraph is divided into runs of equal formatting. The formatting of most letters is the
paragraph's own; only text that differs from it gets a tag, so a translation has few tags to place.
"""

import re
from collections import Counter
from functools import partial

from pipelines.documents.document import Document, DocumentError, escaped
from pipelines.documents.inline import Inline
from pipelines.documents.xml_tree import root_of
from pipelines.markup.html_elements import names

# Names of the parts with text, in files of Microsoft Office and of OpenDocument.
MICROSOFT = (
    r"word/(document\d*|header\d*|footer\d*|footnotes|endnotes|comments|glossary/document)\.xml"
    r"|ppt/((slides|notesSlides|comments)/[^/]+|diagrams/data\d*|charts/chart\d*)\.xml"
    r"|xl/(sharedStrings|(comments/)?comments?\d*|drawings/drawing\d+|charts/chart\d+"
    r"|worksheets/[^/]+)\.xml"
)
OPEN = r"(.*/)?(content|styles)\.xml"
TABLE = r"xl/tables/[^/]+\.xml"
PARAGRAPHS = {"p", "h", "si", "is", "comment"}  # elements that are translated one by one
# In files of Microsoft Office, text stands in these elements, whose properties come first.
RUN, TEXT = "r", "t"
# Elements whose text stays, such as formulas and deleted text.
KEPT = names(
    """instrText delText del moveFrom oMath oMathPara fld rPh tracked-changes annotation-end script
    page-number page-count date note-citation time ruby-text"""
)
# What a new text makes obsolete between two runs; None: line breaks of the XML.
OBSOLETE = ("proofErr", "lastRenderedPageBreak", None)
PROOFING = re.compile(
    r"<\w+:(lang|noProof)\b[^>]*/>|\s(lang|altLang|dirty|err)=(\"[^\"]*\"|'[^']*')"
)


def read_office(file, options, parts):
    for name in file.parts:
        if re.fullmatch(parts, name):
            document = file.opened(name)
            Paragraph(document, parts == OPEN).search(root_of(document))
    if not file.documents:
        raise DocumentError("it has no part with text")
    keep_columns(file)


def keep_columns(file):
    """Removes names of table columns, which formulas and the table itself contain, from units."""
    tables = [data for name, data in file.parts.items() if re.fullmatch(TABLE, name)]
    columns = [each for data in tables for each in root_of(Document(data)).find("tableColumn")]
    kept = {escaped(each.attributes.get("name", "")) for each in columns}
    for document in file.documents.values() if kept else ():
        places = [each for each in document.places if each[2].text not in kept]
        file.skipped["name of a table's column"] += len(document.places) - len(places)
        document.places = places


class Paragraph:
    """A paragraph as an `Inline` with tags where its formatting changes.

    Args:
        document: the `Document` of a part, to which the paragraph's place is added.
        is_open: whether it is of OpenDocument, where text stands in the paragraph itself.
    """

    def __init__(self, document, is_open):
        self.document, self.is_open, self.source = document, is_open, document.text
        self.inline, self.letters = Inline(escaped), Counter()
        self.runs = {}  # {formatting: function that returns a text as a run}

    def search(self, element):
        """Adds the places of all paragraphs in an element."""
        if element.name in PARAGRAPHS and any(map(self.has_text, element.children)):
            Paragraph(self.document, self.is_open).add(element)
        elif element.name not in KEPT:
            for child in element.elements:
                self.search(child)

    def add(self, element):
        """Adds the place of the paragraph, and of every paragraph in it, such as a note."""
        inside = self.inside(element)
        while len(inside) == 1 and self.is_wrapper(inside[0]):
            inside = self.inside(inside[0])
        self.fill(inside)
        if self.letters:  # the formatting of most letters needs no tag
            self.inline.escape = self.runs[self.letters.most_common(1)[0][0]]
        self.document.add(inside[0].start, inside[-1].end, self.inline.unit, self.inline.written)

    def inside(self, element):
        """Returns the children from the first with text to the last with text."""
        has_text = [*map(self.has_text, element.children)]
        first, end = has_text.index(True), len(has_text) - has_text[::-1].index(True)
        for child in element.children[:first] + element.children[end:]:
            self.search(child)
        return element.children[first:end]

    def has_text(self, node):
        """Returns whether a node contains text of this paragraph."""
        if node.name is None:
            return self.is_open
        if node.name in KEPT or node.name in PARAGRAPHS:
            return False
        if node.name == TEXT:
            return bool(node.text)
        return any(map(self.has_text, node.children))

    def is_wrapper(self, node):
        return node.name not in (None, RUN, TEXT) and self.has_text(node)

    def fill(self, nodes, before="", after=""):
        """Adds nodes to the `Inline`, given the tags and properties of the run that they are in."""
        for node in nodes:
            if node.name is None and self.is_open:
                self.inline.text(node.text)
            elif node.name == RUN and self.has_text(node):
                has_properties = node.elements[0].name == f"{RUN}Pr"
                begin = node.elements[0].end if has_properties else node.inside
                tags = self.source[node.start : begin], self.source[node.after : node.end]
                self.fill(node.elements[has_properties:], *tags)
            elif node.name == TEXT and node.text:
                self.fill_text(node, before, after)
            elif self.is_wrapper(node) and not before:
                inner = self.inside(node)
                ends = (node.start, inner[0].start), (inner[-1].end, node.end)
                with self.inline.element(*(partial(self.document.between, *end) for end in ends)):
                    self.fill(inner)
            elif node.name not in OBSOLETE:
                between = partial(self.document.between, node.start, node.end)
                self.inline.code(lambda _, between=between: before + between() + after)
                self.search(node)

    def fill_text(self, node, before, after):
        opening = self.source[node.start : node.inside]
        if "preserve" not in opening and not opening.startswith("<a:"):  # spaces at its edges
            opening = opening[:-1] + ' xml:space="preserve">'
        opening, closing = before + opening, self.source[node.after : node.end] + after
        formatting = PROOFING.sub("", before.partition(">")[2])
        written = self.runs.setdefault(formatting, lambda text: opening + escaped(text) + closing)
        self.letters[formatting] += len(node.text)
        with self.inline.element("", "", written):
            self.inline.text(node.text)
