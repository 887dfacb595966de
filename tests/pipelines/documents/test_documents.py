"""Documents of all kinds: all of their text is translated, and nothing else in them changes."""

import io
import json
import random
import re
import zipfile
from pathlib import Path

import docx
import openpyxl
import polib
import pptx
import pysubs2
import pytest
from lxml import etree
from support.text.sample_documents import BOOK, SAMPLES, XLIFF_2, loud, sample

from pipelines.documents import DocumentError, Options, read_document

OPTIONS = Options("en", "de", column="text")
BILINGUAL = (".xlf", ".tmx", ".po")


def read(suffix, data=None, options=OPTIONS):
    return read_document(Path(f"a{suffix}"), sample(suffix) if data is None else data, options)


def translated(suffix, data=None, options=OPTIONS):
    """Returns a document in which every unit is written in capitals."""
    document = read(suffix, data, options)
    return document.write([loud(unit) for unit in document.units])


def parts_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.mark.parametrize("suffix", [each for each in SAMPLES if each not in BILINGUAL])
def test_text_that_a_translator_leaves_as_it_is_keeps_every_byte(suffix):
    document = read(suffix)
    same, data = document.write([unit.text for unit in document.units]), sample(suffix)
    assert document.units
    if zipfile.is_zipfile(io.BytesIO(data)):
        same, data = parts_of(same), parts_of(data)
    assert same == data


def test_word_keeps_formatting_links_tabs_and_all_other_parts():
    data = sample(".docx")
    document = read(".docx", data)
    written = document.write([loud(unit) for unit in document.units])
    old, new = parts_of(data), parts_of(written)
    changed = {name for name in old if old[name] != new[name]}
    assert changed == {
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
    text = f'<w:p xmlns:w="w">{BOX}{runs}{runs}</w:p>'
    data = zipped({"word/document.xml": text})
    units = ["A box", 'The old dog<x i="1"/>The old dog', "A box", "A box"]
    assert [unit.text for unit in read(".docx", data).units] == units
    (written,) = parts_of(translated(".docx", data)).values()
    assert re.findall("A box|A BOX", written.decode()) == ["A BOX"] * 3


def zipped(parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as output:
        for name, contents in parts.items():
            output.writestr(name, contents)
    return file.getvalue()


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
    assert [*parts] == ["mimetype", *BOOK]
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


def test_html_translates_what_a_person_reads():
    assert translated(".html").decode().splitlines()[1:] == [
        "<html><head><title>THE HOUSE</title>",
        '<meta name="description" content="ABOUT A DOG"><script>var x = "no";</script></head>',
        '<body><h1 title="A TIP">THE <em>OLD</em> MAN</h1>',
        '<p>THE OLD HORSE SLEEPS. <img src="a.png" alt="A BIG DOG"> SEE <a href="x" title="MORE">'
        "THE CAT</a>.</p>",
        '<pre>not this</pre><p translate="no" title="nor this">Nor this</p>',
        '<input placeholder="YOUR NAME"><button aria-label="CLOSE">X</button></body></html>',
    ]


def test_markdown_keeps_code_targets_tables_and_front_matter():
    text = translated(".md").decode()
    old = sample(".md").decode()
    for kept in ("`code here`", '(https://a.example/x_y "A title")', "(p.png)", "2 \\* 3.[^1]"):
        assert kept in text
    for line in ("tags: [a, b]", 'print("not this")', "|------|-------|", "<div>HTML stays</div>"):
        assert line in text.splitlines()
    for line in ('title: "THE OLD HOUSE"', "# THE *OLD* HOUSE", "> TWO LINES.", "[^1]: A NOTE."):
        assert line in text.splitlines()
    assert len(text.splitlines()) == len(old.splitlines())


def test_xliff_and_tmx_get_targets_and_keep_the_rest():
    root = etree.fromstring(translated(".xlf"))
    units = {unit.get("id"): unit for unit in root.iter("{*}trans-unit")}
    targets = {id: unit.find("{*}target") for id, unit in units.items()}
    state = "needs-review-translation"
    assert [targets[id].get("state") for id in "1256"] == [state] * 4
    assert "".join(targets["2"].itertext()) == "THE OLD MAN SEES {0} & THE CAT."
    assert [each.tag.split("}")[1] for each in targets["2"]] == ["g", "ph", "x"]
    assert targets["3"].text == "Fertig" and targets["4"] is None
    assert root[0].get("target-language") == "de"
    added = rb'\s*<target[^>]*/>|\s*<target.*?</target>| target-language="de"'
    assert re.sub(added, b"", translated(".xlf")) == re.sub(added, b"", sample(".xlf"))
    segment = etree.fromstring(translated(".xlf", XLIFF_2.encode(), OPTIONS._replace(final=True)))
    (segment,) = segment.iter("{*}segment")
    assert segment.get("state") == "translated" and "".join(segment[1].itertext()) == "THE DOG."
    texts = ["".join(each.itertext()) for each in etree.fromstring(translated(".tmx")).iter("seg")]
    assert texts == ["The dog.", "THE DOG.", "Done", "Fertig"]


@pytest.mark.parametrize("suffix", BILINGUAL)
def test_translated_units_are_translated_again_only_if_asked(suffix):
    options = OPTIONS._replace(retranslate=True)
    assert len(read(suffix, options=options).units) > len(read(suffix).units)
    document = read(suffix, options=OPTIONS._replace(final=True))
    same = document.write([unit.text for unit in document.units])
    assert not read(suffix, same).units, "a translation that equals its source is one, too"


def test_po_files_get_fuzzy_translations_of_each_form():
    old, new = polib.pofile(sample(".po").decode()), polib.pofile(translated(".po").decode())
    assert [e.msgid for e in new] == [e.msgid for e in old] and new.metadata == old.metadata
    found = {e.msgid: e for e in new}
    assert found["The dog sees %s."].msgstr == "THE DOG SEES %s."
    assert found["%d file"].msgstr_plural == {0: "%d FILE", 1: "%d FILES"}
    assert found["%d file"].flags == ["fuzzy", "c-format"]
    assert found['Two lines\nof "text" <b>here</b>\n'].msgstr.endswith('OF "TEXT" <b>HERE</b>\n')
    assert [e.msgid for e in new if not e.fuzzy and not e.obsolete] == ["Done"]
    final = polib.pofile(translated(".po", options=OPTIONS._replace(final=True)).decode())
    assert not any(e.fuzzy for e in final)


def test_json_keeps_keys_layout_and_forms_of_messages():
    text = translated(".json").decode()
    contents = json.loads(text)
    assert (
        contents["icu"]
        == "YOU HAVE {n, plural, one {# SMALL FILE} other {# BIG FILES}} IN {place}."
    )
    assert (contents["id"], contents["ref"]) == ("HOUSE_1", "SEE $t(title) NOW")
    assert contents["nested"]["a"][2] == "HELLO {name}, {{count}} CATS"
    assert "FIRST \\u00c9 TEXT" in text, "escaped as before"
    assert re.sub(r'"[^"]*"', "", text) == re.sub(r'"[^"]*"', "", sample(".json").decode())
    assert json.loads(translated(".arb")) == json.loads(sample(".arb")) | {"hello": "HELLO {user}"}


@pytest.mark.parametrize("suffix", [".srt", ".vtt", ".ass"])
def test_subtitles_keep_times_and_styles(suffix):
    files = [
        pysubs2.SSAFile.from_string(data.decode()) for data in (sample(suffix), translated(suffix))
    ]
    old, new = ([(e.start, e.end, e.name, e.style, e.type) for e in file] for file in files)
    assert old == new
    assert [e.text.upper() for e in files[0] if e.type == "Dialogue"] == [
        e.text.upper() for e in files[1] if e.type == "Dialogue"
    ]


def test_a_sentence_that_spans_cues_is_one_unit_and_is_divided_again():
    units = [unit.text for unit in read(".srt").units]
    assert units == [
        "The old man sees the small dog, who sleeps in the house.",
        *("Hello there!", "Who is it?", "The dog."),
    ]
    text = translated(".srt").decode()
    assert "THE OLD MAN SEES\nTHE SMALL DOG,\n" in text and "- WHO IS IT?\n- THE DOG." in text


def test_plain_text_by_paragraphs_and_a_column_of_a_table():
    assert len(read(".txt").units) == 4, "a wrapped paragraph is one unit"
    assert translated(".txt").decode() == sample(".txt").decode().upper()
    expected = 'id,text,n\n1,"THE DOG, SLEEPS",3\r\n2,THE CAT,4\n3,"SAY ""HELLO""",5'
    assert translated(".csv").decode() == expected
    assert translated(".csv", options=OPTIONS._replace(column="2")).decode() == expected
    with pytest.raises(DocumentError, match=r"--column. Received: none; the table has id, text, n"):
        read(".csv", options=Options())


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".md", "See {__0__} and {__7__} in `code`.\n"),
        (".json", '{"a": "See {__7__} and $t(x) now"}'),
        (".srt", "1\n00:00:01,000 --> 00:00:02,000\nSee {__3__} {\\i1}now{\\i0} it.\n"),
    ],
)
def test_text_that_looks_like_a_placeholder_of_ours_stays(suffix, text):
    loudly = translated(suffix, text.encode()).decode()
    assert loudly.lower() == text.lower() and "SEE" in loudly
    assert KEPT_IN[suffix] in loudly


KEPT_IN = {".md": "`code`", ".json": "$t(x)", ".srt": "{\\i1}NOW{\\i0}"}


@pytest.mark.parametrize("suffix", [".po", ".srt", ".md", ".json", ".xlf", ".csv"])
def test_line_ends_of_windows_stay(suffix):
    data = sample(suffix).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    written = translated(suffix, data)
    assert written.count(b"\r\n") == written.count(b"\n")
    assert written.replace(b"\r", b"") == translated(suffix, data.replace(b"\r", b""))


def test_encodings_are_kept():
    data = "﻿".encode("utf-16-le") + "Größe\r\n".encode("utf-16-le")
    assert translated(".txt", data) == data[:2] + "GRÖSSE\r\n".encode("utf-16-le")
    data = (
        '<?xml version="1.0" encoding="ISO-8859-1"?><xliff version="1.2"><file><body><trans-unit>'
    )
    data += "<source>Größe</source></trans-unit></body></file></xliff>"
    assert "GRÖSSE".encode("latin-1") in translated(".xlf", data.encode("latin-1"))


ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><xliff>&b;</xliff>'
NESTED = "".join([*(f"<a{n}>" for n in range(1500)), *(f"A</a{1499 - n}>" for n in range(1500))])
EXTERNAL = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff>&a;</xliff>'


@pytest.mark.parametrize(
    ("suffix", "data", "message"),
    [
        (".xlf", ENTITIES, "declares XML entities"),
        (".xlf", EXTERNAL, "declares XML entities"),
        (".xlf", b"<a>" * 1000 + b"</a>" * 1000, "nested more than 500 deep"),
        (".xlf", b"<html></html>", "is not XLIFF: it begins with <html>"),
        (".tmx", b"<tmx><body>", "not well-formed XML"),
        (".md", NESTED.encode(), "nested too deeply"),
        (".docx", b"\xd0\xcf\x11\xe0", "has a password or a format of Office 2003"),
        (".docx", b"not a zip", "is not a ZIP file, unlike a .docx file"),
        (".srt", zipped({"a": b""}), "is a ZIP file, unlike a .srt file"),
        (".docx", zipped({"a.xml": b"<a/>"}), "no part with text"),
        (".docx", zipped({"../a.xml": b"<a/>"}), "outside of the document"),
        (".docx", zipped({"word/document.xml": b" " * 9_000_000}), "expands to 9,000,000 bytes"),
        (".docx", zipped({"_xmlsignatures/a.xml": b"<a/>"}), "it is signed"),
        (".odt", zipped({"content.xml": ENTITIES}), "declares XML entities"),
        (".txt", b"a\0b", "a binary file"),
        (".txt", b"\xff\xe4", "not encoded in UTF-8"),
        (".json", b"{", "is not JSON"),
        (".json", b'{"a": "{n, plural, one {x}"}', "an open brace"),
        (".po", b'msgid "a"\n', "needs msgid and msgstr"),
        (".srt", b"hello", "no cue"),
        (".xyz", b"", "no suffix of a known kind"),
    ],
)
def test_wrong_and_hostile_files_are_refused_with_their_name(suffix, data, message):
    with pytest.raises(DocumentError, match=message) as error:
        read(suffix, data)
    assert str(error.value).startswith(f"a{suffix} ")


@pytest.mark.parametrize("suffix", SAMPLES)
def test_damaged_files_are_refused_or_right(suffix):
    draw, data = random.Random(suffix), sample(suffix)
    for _ in range(12):
        start, end = sorted(draw.randrange(len(data)) for _ in range(2))
        damaged = draw.choice(
            [
                data[:start],
                data[:start] + draw.randbytes(3) + data[start + 3 :],
                data[:start]
                + draw.choice([b"<", b"&", b'"', b"{", b"]]>", b"\n\n"])
                + data[start:],
                data[:start] + data[min(end, start + 30) :],
            ]
        )
        try:
            document = read(suffix, damaged)
        except DocumentError:
            continue
        document.write([loud(unit) for unit in document.units])
