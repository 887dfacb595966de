"""Documents of all kinds: all of their text is translated, and nothing else in them changes."""

import dataclasses
import io
import json
import re

import docx
import openpyxl
import polib
import pptx
import pysubs2
import pytest
from lxml import etree
from support.text.sample_documents import (
    BOOK,
    BUILT,
    FOLDER,
    OPTIONS,
    SUFFIXES,
    parts_of,
    read,
    sample,
    translated,
    zipped,
)

from pipelines.documents import DocumentError, Options

BILINGUAL = (".xlf", ".tmx", ".po")
TEXTS = [each for each in SUFFIXES if each not in BUILT]
FINAL = dataclasses.replace(OPTIONS, final=True)


@pytest.mark.parametrize("suffix", [each for each in SUFFIXES if each not in BILINGUAL])
def test_text_that_a_translator_leaves_as_it_is_keeps_every_byte(suffix):
    document = read(suffix)
    same, data = document.write([unit.text for unit in document.units]), sample(suffix)
    assert document.units
    assert same == data or parts_of(same) == parts_of(data)


@pytest.mark.parametrize("suffix", TEXTS)
def test_all_that_a_person_reads_is_translated_and_nothing_else(suffix):
    expected = FOLDER.with_name("samples_in_capitals") / f"sample{suffix}"
    assert translated(suffix).decode() == expected.read_bytes().decode()


@pytest.mark.parametrize(
    ("suffixes", "reader"),
    [
        (".srt .vtt .ass", pysubs2.SSAFile.from_string),
        (".json .arb", json.loads),
        (".po", polib.pofile),
        (".xlf .tmx", lambda text: etree.fromstring(text.encode())),
    ],
)
def test_other_programs_read_the_translation(suffixes, reader):
    for suffix in suffixes.split():
        assert len(reader(translated(suffix).decode())) == len(reader(sample(suffix).decode()))


def test_word_keeps_formatting_links_tabs_and_all_other_parts():
    written = translated(".docx")
    old, new = parts_of(sample(".docx")), parts_of(written)
    assert {name for name in old if old[name] != new[name]} == {
        f"word/{part}.xml" for part in ("document", "header1", "footer1", "comments")
    }
    found = docx.Document(io.BytesIO(written))
    assert [each.text for each in found.paragraphs] == [
        "THE OLD HOUSE",
        "THE DOG SEES THE SMALL CAT. TWO MEN SLEEP.",
        "A LINE\nAND ONE\tWITH A TAB.",
        "OPEN THE WEB PAGE NOW.",
    ]
    runs = [(run.text, run.bold, run.italic) for run in found.paragraphs[1].runs]
    assert ("SEES", True, None) in runs and ("SMALL CAT", None, True) in runs
    assert found.paragraphs[3].hyperlinks[0].text == "THE WEB PAGE"
    assert found.tables[0].cell(0, 1).text == "THE PRICE"
    assert found.sections[0].header.paragraphs[0].text == "THE HEADER"
    assert [comment.text for comment in found.comments] == ["A COMMENT"]


RUN = '<w:r><w:rPr><w:lang w:val="{}"/></w:rPr><w:t>{}</w:t></w:r><w:proofErr w:type="spellEnd"/>'
BOX = "<w:r><w:txbxContent><w:p><w:r><w:t>A box</w:t></w:r></w:p></w:txbxContent></w:r>"


def test_runs_that_differ_in_proofing_alone_are_one_text_and_text_boxes_another():
    runs = RUN.format("en-US", "The ol") + RUN.format("de-DE", "d dog") + BOX
    data = zipped({"word/document.xml": f'<w:p xmlns:w="w">{BOX}{runs}{runs}</w:p>'})
    units = ["A box", 'The old dog<x i="1"/>The old dog', "A box", "A box"]
    assert [unit.text for unit in read(".docx", data).units] == units
    (written,) = parts_of(translated(".docx", data)).values()
    assert re.findall("A box|A BOX", written.decode()) == ["A BOX"] * 3


def test_slides_sheets_and_open_documents():
    slide = pptx.Presentation(io.BytesIO(translated(".pptx"))).slides[0]
    texts = [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
    assert texts == ["THE BIG DOG", "A FIRST POINT\nTHE RED HOUSE"]
    assert slide.placeholders[1].text_frame.paragraphs[1].runs[-1].font.bold
    assert slide.notes_slide.notes_text_frame.text == "SAY HELLO."
    sheet = openpyxl.load_workbook(io.BytesIO(translated(".xlsx"))).active
    cells = [[cell.value for cell in row] for row in sheet["A1:B3"]]
    assert cells == [["Name", "Price"], ["THE OLD LAMP", 3], ["TWO HOUSES", "=B2*2"]]
    assert sheet["A6"].comment.text == "A NOTE"
    assert read(".xlsx").skipped == {"name of a table's column": 2}
    content = parts_of(translated(".odt"))["content.xml"].decode()
    text = "".join(etree.fromstring(content.encode()).itertext())
    assert text == "THE OLD HOUSETHE DOG SEES THE CAT1A SMALL NOTE.. TWO MEN SLEEP."
    assert 'style-name="Bold">SEES</text:span>' in content


def test_books_keep_their_pictures_and_creators():
    parts = parts_of(translated(".epub"))
    assert [*parts] == [*BOOK]
    assert parts["picture.png"].decode() == BOOK["picture.png"]
    assert "<dc:title>THE HOUSE</dc:title><dc:creator>Ann<" in parts["b.opf"].decode()
    assert "<p>THE DOG <i>SLEEPS</i>.<br/>TWO CATS.</p>" in parts["one.xhtml"].decode()


def test_the_language_that_a_page_or_a_book_names_is_that_of_its_translation():
    page = b'<html lang="en"><p>A dog</p></html>'
    assert b'<html lang="de">' in translated(".html", page)
    assert b'<html lang="en">' in translated(".html", page, Options())
    opf = BOOK["b.opf"].replace("<dc:creator>", "<dc:language>en</dc:language><dc:creator>")
    book = translated(".epub", zipped(BOOK | {"b.opf": opf}))
    assert b"<dc:language>de</dc:language>" in parts_of(book)["b.opf"]


def test_xliff_2_has_states_of_segments():
    root = etree.fromstring(translated(".xlf", (FOLDER / "two.xlf").read_bytes(), FINAL))
    (segment,) = root.iter("{*}segment")
    assert segment.get("state") == "translated" and "".join(segment[1].itertext()) == "THE DOG."


@pytest.mark.parametrize("suffix", BILINGUAL)
def test_translated_units_are_translated_again_only_if_asked(suffix):
    options = dataclasses.replace(OPTIONS, retranslate=True)
    assert len(read(suffix, options=options).units) > len(read(suffix).units)
    document = read(suffix, options=FINAL)
    same = document.write([unit.text for unit in document.units])
    assert not read(suffix, same).units, "a translation that equals its source is one, too"


def test_a_sentence_that_spans_cues_is_one_unit_and_so_is_a_wrapped_paragraph():
    assert [unit.text for unit in read(".srt").units] == [
        "The old man sees the small dog, who sleeps in the house.",
        *("Hello there!", "Who is it?", "The dog."),
    ]
    assert len(read(".txt").units) == 4


def test_the_column_of_a_table_may_be_a_number_and_must_be_given():
    options = dataclasses.replace(OPTIONS, column="2")
    assert translated(".csv", options=options) == translated(".csv")
    with pytest.raises(DocumentError, match=r"--column. Received: none; the table has id, text, n"):
        read(".csv", options=Options())


NOTE = "<n><p>A note</p></n>"


@pytest.mark.parametrize("text", [f"<s>{NOTE}word</s>", f"<s>word{NOTE}</s>", f"{NOTE}word"])
def test_notes_at_the_edge_of_a_style_are_translated(text):
    data = translated(".odt", zipped({"content.xml": f"<d><p>A {text} here</p></d>"}))
    expected = text.replace("word", "WORD").replace("A note", "A NOTE")
    assert parts_of(data)["content.xml"].decode() == f"<d><p>A {expected} HERE</p></d>"


def test_strings_of_a_sheet_without_letters_and_names_of_columns_stay():
    texts = "".join(f"<si><t>{text}</t></si>" for text in ("12 %", "Price", "A lamp"))
    table = '<table><tableColumns><tableColumn name="Price"/></tableColumns></table>'
    parts = {"xl/sharedStrings.xml": f"<sst>{texts}</sst>", "xl/tables/table1.xml": table}
    document = read(".xlsx", zipped(parts))
    assert [unit.text for unit in document.units] == ["A lamp"]
    assert document.skipped == {"without letters": 1, "name of a table's column": 1}


def test_po_entries_without_an_empty_line_between_them():
    entry = '#, c-format\nmsgctxt "a"\nmsgid ""\n"The "\n"dog"\nmsgid_plural "Dogs"\n'
    text = entry + 'msgstr[0] ""\nmsgstr[1] ""\n#, fuzzy\nmsgid "A cat"\nmsgstr ""\n# end\n'
    one, two = polib.pofile(translated(".po", text).decode())
    assert (one.msgstr_plural, two.msgstr) == ({0: "THE DOG", 1: "DOGS"}, "A CAT")
    assert (one.flags, two.flags) == (["fuzzy", "c-format"], ["fuzzy"])
