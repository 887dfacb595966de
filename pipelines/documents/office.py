"""DOCX, PPTX, XLSX, ODT, ODP and ODS: paragraphs in the XML parts of a ZIP file.

A paragraph is divided into runs of equal formatting. The formatting of most letters is the
paragraph's own; only text that differs from it gets a tag, so a translation has few tags to place.
"""

import html
import re
from collections import Counter
from typing import NamedTuple

from pipelines.documents.document import DocumentError, Template
from pipelines.documents.inline import Inline
from pipelines.documents.xml_tree import Element, Text, escaped, parsed
from pipelines.documents.zip_parts import ZipDocument


class Office(NamedTuple):
    """The elements of a kind of office document.

    Args:
        parts: pattern of the names of the parts that contain text.
        paragraphs: names of the elements that are translated one by one.
        run: name of an element with text of one formatting, and with its properties first. "": text
            stands in the paragraph itself.
        text: name of the element in a run that contains the text.
        kept: names of elements whose text stays, such as formulas or deleted text.
    """

    parts: str
    paragraphs: tuple
    run: str = ""
    text: str = ""
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
PROOFING = re.compile(rb"<\w+:(lang|noProof)\b[^>]*/>|\s(lang|altLang|dirty|err)=\"[^\"]*\"")


def read_office(data, office):
    """Returns the `ZipDocument` of an office file."""

    def read(name, parts):
        if name.startswith("_xmlsignatures/") or name.endswith("META-INF/documentsignatures.xml"):
            raise DocumentError("it is signed, and a translation would break the signature")
        if not re.fullmatch(office.parts, name):
            return None
        root, source, encode = parsed(parts[name])
        template = Template(source)
        add_paragraphs(root, template, office)
        keep_columns(template, parts)
        return template, encode

    document = ZipDocument(data, read)
    if not document.templates:
        raise DocumentError("it has no part with text")
    return document


def add_paragraphs(element, template, office):
    """Adds the places of all paragraphs in an element."""
    for child in element.elements:
        if child.name in office.paragraphs:
            Paragraph(child, template, office).add()
        elif child.name not in office.kept:
            add_paragraphs(child, template, office)


def keep_columns(template, parts):
    """Removes names of table columns, which formulas and the table itself contain, from units."""
    tables = [name for name in parts if re.fullmatch(r"xl/tables/[^/]+\.xml", name)]
    columns = [each for name in tables for each in parsed(parts[name])[0].find("tableColumn")]
    names = {each.attributes.get("name") for each in columns}
    places = template.places
    template.places = [each for each in places if html.unescape(each.units[0].text) not in names]
    if len(template.places) < len(places):
        template.skip("name of a table's column", len(places) - len(template.places))


class Run(NamedTuple):
    """The formatting of a run: a key, its tags and properties, and the tags of its text."""

    key: bytes = b""
    before: bytes = b""
    after: bytes = b""
    text: tuple = (b"", b"")

    def written(self, text):
        return self.before + self.text[0] + escaped(text) + self.text[1] + self.after


class Paragraph:
    """A paragraph as an `Inline` with tags for its differences in formatting.

    Args:
        element: the paragraph's `Element`.
        template: the `Template` to which its place is added.
        office: its `Office`.
    """

    def __init__(self, element, template, office):
        self.element, self.template, self.office = element, template, office
        self.source, self.inline = template.text, Inline()
        self.inner = []  # templates of text boxes and notes, with paragraphs of their own
        self.atoms = []  # (Run or None, text or tag, wrappers around it)

    def add(self):
        """Adds the place of the paragraph to the template."""
        element = self.element
        children = self.with_text(element)
        while len(children) == 1 and self.is_wrapper(children[0]):
            element = children[0]
            children = self.with_text(element)
        if not children:
            add_paragraphs(self.element, self.template, self.office)
            return
        self.collect(element, ())
        letters = Counter()
        for run, text, _ in self.atoms:
            if run is not None:
                letters[run] += len(text)
        by_key = Counter()
        for run, count in letters.items():
            by_key[run.key] += count
        base = by_key.most_common(1)[0][0]
        self.base = next(run for run in letters if run.key == base)
        self.fill([*self.atoms], 0)
        units = self.inline.units
        if not units:
            add_paragraphs(self.element, self.template, self.office)
            return
        inner = [unit for each in self.inner for unit in each.units]
        self.template.add(children[0].start, children[-1].end, units + inner, self.written)

    def has_text(self, node):
        """Returns whether a node contains text of this paragraph."""
        if isinstance(node, Text):
            return not self.office.run
        if not node.name or node.name in (*self.office.kept, *self.office.paragraphs):
            return False
        if node.name == self.office.text:
            return bool(node.text)
        return any(map(self.has_text, node.children))

    def with_text(self, element):
        """Returns the children from the first with text to the last with text."""
        marks = [self.has_text(child) for child in element.children]
        if True not in marks:
            return []
        return element.children[marks.index(True) : len(marks) - marks[::-1].index(True)]

    def is_run(self, node):
        return bool(self.office.run) and node.name == self.office.run

    def is_wrapper(self, node):
        names = self.office.run, self.office.text
        return isinstance(node, Element) and node.name not in names and self.has_text(node)

    def collect(self, element, wrappers):
        """Adds the text and the codes in an element to `atoms`."""
        for child in self.with_text(element):
            if isinstance(child, Text):
                self.atoms.append((Run(), child.text, wrappers))
            elif self.is_run(child):
                self.collect_run(child, wrappers)
            elif child.name == self.office.text:  # a cell's text without formatting
                self.collect_text(child, (b"", b"", b""), wrappers)
            elif self.is_wrapper(child):
                inside = self.with_text(child)
                tags = self.raw(child.start, inside[0].start), self.raw(inside[-1].end, child.end)
                self.collect(child, (*wrappers, (child.start, tags)))
            elif child.name not in OBSOLETE:
                self.atoms.append((None, (b"", self.code(child), b""), wrappers))

    def collect_run(self, run, wrappers):
        """Adds the parts of a run, which begins with its properties."""
        first = run.elements[0]
        has_properties = first.name == f"{self.office.run}Pr"
        properties = self.raw(first.start, first.end) if has_properties else b""
        before = self.raw(run.start, run.inside) + properties
        after = self.raw(run.after, run.end)
        for child in run.elements[has_properties:]:
            if child.name == self.office.text:
                self.collect_text(child, (properties, before, after), wrappers)
            elif child.name not in OBSOLETE:
                self.atoms.append((None, (before, self.code(child), after), wrappers))

    def collect_text(self, element, run, wrappers):
        properties, before, after = run
        opening = self.raw(element.start, element.inside)
        if b"preserve" not in opening and not opening.startswith(b"<a:"):  # spaces at its edges
            opening = opening[:-1] + b' xml:space="preserve">'
        tags = opening, self.raw(element.after, element.end)
        found = Run(PROOFING.sub(b"", properties), before, after, tags)
        self.atoms.append((found, element.text, wrappers))

    def raw(self, start, end):
        return self.source[start:end]

    def code(self, element):
        """Returns the index of a template for an element without text of this paragraph."""
        self.inner.append(Template(self.source, element.start, element.end))
        if element.name not in self.office.kept:
            holder = Element("", {}, 0)
            holder.children = [element]
            add_paragraphs(holder, self.inner[-1], self.office)
        return len(self.inner) - 1

    def fill(self, atoms, depth):
        """Adds atoms to the `Inline`. `depth` is the number of wrappers that are open."""
        while atoms:
            run, content, wrappers = atoms[0]
            if len(wrappers) > depth:
                outer = wrappers[: depth + 1]
                count = same(atoms, lambda atom, outer=outer: atom[2][: len(outer)] == outer)
                with self.inline.element(("wrapper", wrappers[depth][1])):
                    self.fill(atoms[:count], depth + 1)
            elif run is None:
                count = 1
                self.inline.code(content)
            else:
                own = run.key, wrappers
                count = same(atoms, lambda atom, own=own: atom[0] and (atom[0].key, atom[2]) == own)
                text = "".join(text for _, text, _ in atoms[:count])
                if run.key == self.base.key:
                    self.inline.text(text)
                else:
                    with self.inline.element(("run", run)):
                        self.inline.text(text)
            del atoms[:count]

    def written(self, translations):
        """Returns the content of the paragraph with the translations of it and of `inner`."""
        translation, *others = translations
        codes = []
        for template in self.inner:
            count = len(template.units)
            codes.append(template.write(others[:count]))
            others = others[count:]
        runs, written, closing = [self.base], [], []
        for kind, value in self.inline.events(translation):
            if kind == "text":
                written.append(runs[-1].written(value))
            elif kind == "code":
                before, index, after = value
                written += [before, codes[index], after]
            elif kind == "open" and value[0] == "run":
                runs.append(value[1])
                closing.append(b"")
            elif kind == "open":
                runs.append(runs[-1])
                written.append(value[1][0])
                closing.append(value[1][1])
            else:
                runs.pop()
                written.append(closing.pop())
        return b"".join(written)


def same(atoms, is_same):
    """Returns the number of atoms at the beginning for which a function is true."""
    return next((i for i, atom in enumerate(atoms) if not is_same(atom)), len(atoms))
