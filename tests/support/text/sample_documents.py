"""A file of each kind of document, with everything that a translation must keep."""

import functools
import io
import re
import zipfile

import docx
import openpyxl
import pptx
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from odf import opendocument, style, text
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table
from pptx.util import Inches

KEPT = re.compile(r"<[^>]*>|&\w+;|\{[^{}]*\}+|%[\w()$]*[sd]|\$t\(\w+\)")


def loud(unit):
    """Translates a unit to capitals, without its markup and placeholders."""
    parts, at = [], 0
    for match in KEPT.finditer(unit.text):
        parts += [unit.text[at : match.start()].upper(), match[0]]
        at = match.end()
    return "".join(parts) + unit.text[at:].upper()


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
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as parts:
        parts.writestr("mimetype", "application/epub+zip")
        for name, contents in BOOK.items():
            parts.writestr(name, contents, zipfile.ZIP_DEFLATED)
    return file.getvalue()


BOOK = {
    "META-INF/container.xml": '<container><rootfile full-path="b.opf"/></container>',
    "b.opf": '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The house'
    "</dc:title><dc:creator>Ann</dc:creator></metadata></package>",
    "one.xhtml": '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><body><p>The '
    "dog <i>sleeps</i>.<br/>Two cats.</p></body></html>",
    "picture.png": "\x89PNG",
}
XLIFF = """\
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a" source-language="en" datatype="plaintext">
  <body>
   <trans-unit id="1"><source>The dog sleeps.</source><note>Not a text</note></trans-unit>
   <trans-unit id="2">
    <source>The <g id="1">old man</g> sees <ph id="2">{0}</ph> &amp; the cat.<x id="3"/></source>
   </trans-unit>
   <trans-unit id="3" approved="yes"><source>Done</source><target>Fertig</target></trans-unit>
   <trans-unit id="4" translate="no"><source>Keep me</source></trans-unit>
   <trans-unit id="5"><source>New</source><target state="new"></target></trans-unit>
   <trans-unit id="6"><source>Empty</source><target/></trans-unit>
  </body>
 </file>
</xliff>
"""
XLIFF_2 = """\
<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en">
<file id="f"><unit id="1">
<segment state="initial"><source>The <pc id="1">dog</pc>.</source></segment>
<ignorable><source> </source></ignorable></unit></file></xliff>
"""
TMX = """\
<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>
<tu>
  <tuv xml:lang="en"><seg>The <hi>dog</hi>.</seg></tuv>
</tu><tu><tuv xml:lang="en-US"><seg>Done</seg></tuv><tuv xml:lang="de"><seg>Fertig</seg></tuv></tu>
</body></tmx>
"""
PO = r"""# A comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#: a.c:1
msgid "The dog sees %s."
msgstr ""

#, c-format
msgctxt "menu"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid ""
"Two lines\n"
"of \"text\" <b>here</b>\n"
msgstr ""

msgid "Done"
msgstr "Fertig"

#, fuzzy
msgid "Old"
msgstr "Alt"

#~ msgid "gone"
#~ msgstr "weg"
"""
JSON = """{
  "title": "The old house", "count": 3, "id": "HOUSE_1",
  "nested": {"a": ["First \\u00e9 text", "https://a.example/x", "Hello {name}, {{count}} cats"]},
  "icu": "You have {n, plural, one {# small file} other {# big files}} in {place}.",
  "ref": "See $t(title) now", "html": "Click <b>here</b>"
}
"""
ARB = """{"@@locale": "en", "hello": "Hello {user}",
 "@hello": {"description": "A greeting", "placeholders": {"user": {"example": "Bob"}}}}
"""
SRT = """\
1
00:00:01,000 --> 00:00:03,000
The old man sees
the small dog,

2
00:00:03,500 --> 00:00:05,000
who sleeps in the house.

3
00:00:06,000 --> 00:00:08,000
<i>Hello there!</i>

4
00:00:08,000 --> 00:00:09,000
- Who is it?
- The dog.
"""
VTT = """WEBVTT

NOTE a comment

00:01.000 --> 00:03.000 align:start
<v Ann>The dog sleeps.
"""
ASS = r"""[Script Info]
Title: x

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:02.00,Default,Ann,0,0,0,,{\pos(1,2)}The dog, the cat\Nand {\i1}the man.
Comment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,not this
"""
MARKDOWN = """\
---
title: "The old house"
tags: [a, b]
---

# The *old* house

The dog **sees** the [small cat](https://a.example/x_y "A title") and
runs `code here` away.

> A quote with
> two lines.

- [ ] A first item
- Second _item_ with ![a picture](p.png)

```python
print("not this")
```

| Name | Price |
|------|-------|
| The lamp | 12 |

<div>HTML stays</div>

Text with <b>bold</b> and 2 \\* 3.[^1]

[^1]: A note.
"""
HTML = """\
<!DOCTYPE html>
<html><head><title>The house</title>
<meta name="description" content="About a dog"><script>var x = "no";</script></head>
<body><h1 title="A tip">The <em>old</em> man</h1>
<p>The old horse
sleeps. <img src="a.png" alt="A big dog"> See <a href="x" title="More">the cat</a>.</p>
<pre>not this</pre><p translate="no" title="nor this">Nor this</p>
<input placeholder="Your name"><button aria-label="Close">X</button></body></html>
"""
PLAIN = """\
A title

The old man sees the small dog in the garden, and the dog sees the
old man. Two cats sleep in the house of the man, and nobody sees the
cats at all.

- one item
2. two items
"""
CSV = 'id,text,n\n1,"The dog, sleeps",3\r\n2,The cat,4\n3,"Say ""hello""",5'
# {suffix: contents of a file}
SAMPLES = {
    ".docx": word,
    ".pptx": slides,
    ".xlsx": sheets,
    ".odt": open_text,
    ".epub": book,
    ".html": HTML,
    ".md": MARKDOWN,
    ".xlf": XLIFF,
    ".tmx": TMX,
    ".po": PO,
    ".json": JSON,
    ".arb": ARB,
    ".srt": SRT,
    ".vtt": VTT,
    ".ass": ASS,
    ".txt": PLAIN,
    ".csv": CSV,
    ".tsv": CSV.replace(",", "\t").replace("dog\t", "dog,"),
}


@functools.cache
def sample(suffix):
    """Returns the bytes of a file of a kind."""
    contents = SAMPLES[suffix]
    return contents.encode() if isinstance(contents, str) else contents()
