"""A file of each kind of document, with everything that a translation must keep."""

import functools
import io
import re
import zipfile
from pathlib import Path

import docx
import openpyxl
import pptx
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from odf import opendocument, style, text
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table
from pptx.util import Inches

from pipelines.documents import Options, read_document

OPTIONS = Options("en", "de", column="text")
KEPT = re.compile(r"<[^>]*>|&\w+;|\{[^{}]*\}+|%[\w()$]*[sd]|\$t\(\w+\)")


def loud(unit):
    """Translates a unit to capitals, without its markup and placeholders."""
    parts, at = [], 0
    for match in KEPT.finditer(unit.text):
        parts += [unit.text[at : match.start()].upper(), match[0]]
        at = match.end()
    return "".join(parts) + unit.text[at:].upper()


def read(suffix, data=None, options=OPTIONS):
    """Returns the document in a sample, unless other data is given."""
    data = data.encode() if isinstance(data, str) else data
    return read_document(Path(f"a{suffix}"), sample(suffix) if data is None else data, options)


def translated(suffix, data=None, options=OPTIONS, translate=loud):
    """Returns a document in which every unit is written in capitals."""
    document = read(suffix, data, options)
    return document.write([translate(unit) for unit in document.units])


def zipped(parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as output:
        for name, contents in parts.items():
            output.writestr(name, contents)
    return file.getvalue()


def parts_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def saved(document):
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def word():
    document = docx.Document()
    document.add_heading("The old house", 0)
    paragraph = document.add_paragraph("The dog ")
    paragraph.add_run("sees").bold = True
    paragraph.add_run(" the ")
    paragraph.add_run("small cat").italic = True
    paragraph.add_run(". Two men sleep.")
    document.add_paragraph("A line").add_run().add_break()
    document.paragraphs[-1].add_run("and one\twith a tab.")
    linked = document.add_paragraph("Open ")
    link, run, inner = (OxmlElement(f"w:{name}") for name in ("hyperlink", "r", "t"))
    target = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    link.set(qn("r:id"), document.part.relate_to("https://a.example/", target, is_external=True))
    inner.text = "the web page"
    run.append(inner)
    link.append(run)
    linked._p.append(link)
    linked.add_run(" now.")
    document.add_table(1, 2).cell(0, 1).text = "The price"
    document.sections[0].header.paragraphs[0].text = "The header"
    document.sections[0].footer.paragraphs[0].text = "The footer"
    document.add_comment(linked.runs, text="A comment", author="Ann")
    return saved(document)


def slides():
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "The big dog"
    frame = slide.placeholders[1].text_frame
    frame.text = "A first point"
    paragraph = frame.add_paragraph()
    for words, is_bold in (("The red ", None), ("house", True)):
        run = paragraph.add_run()
        run.text, run.font.bold = words, is_bold
    slide.notes_slide.notes_text_frame.text = "Say hello."
    table = slide.shapes.add_table(1, 1, Inches(1), Inches(4), Inches(4), Inches(1)).table
    table.cell(0, 0).text = "A cell"
    return saved(show)


def sheets():
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Name", "Price"], ["The old lamp", 3], ["Two houses", "=B2*2"]):
        sheet.append(row)
    sheet["A6"] = "A free text"
    sheet["A6"].comment = Comment("A note", "Ann")
    sheet.add_table(Table(displayName="Prices", ref="A1:B3"))
    return saved(book)


def open_text():
    document = opendocument.OpenDocumentText()
    bold = style.Style(name="Bold", family="text")
    bold.addElement(style.TextProperties(fontweight="bold"))
    document.automaticstyles.addElement(bold)
    document.text.addElement(text.H(outlinelevel=1, text="The old house"))
    paragraph = text.P(text="The dog ")
    paragraph.addElement(text.Span(stylename=bold, text="sees"))
    paragraph.addText(" the cat")
    note, body = text.Note(noteclass="footnote"), text.NoteBody()
    note.addElement(text.NoteCitation(text="1"))
    body.addElement(text.P(text="A small note."))
    note.addElement(body)
    paragraph.addElement(note)
    paragraph.addText(". Two men sleep.")
    document.text.addElement(paragraph)
    return saved(document)


def book():
    return zipped(BOOK)


BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfile full-path="b.opf"/></container>',
    "b.opf": '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The house'
    "</dc:title><dc:creator>Ann</dc:creator></metadata></package>",
    "one.xhtml": '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><body><p>The '
    "dog <i>sleeps</i>.<br/>Two cats.</p></body></html>",
    "picture.png": "\x89PNG",
}
BUILT = {".docx": word, ".pptx": slides, ".xlsx": sheets, ".odt": open_text, ".epub": book}
FOLDER = Path(__file__).parent / "samples"
SUFFIXES = [*BUILT, *sorted(path.suffix for path in FOLDER.glob("sample.*"))]


@functools.cache
def sample(suffix):
    """Returns the bytes of a file of a kind."""
    return BUILT[suffix]() if suffix in BUILT else (FOLDER / f"sample{suffix}").read_bytes()
