"""Documents that would take hours, lose a text, or end with a traceback."""

import random
import time

import pytest
from support.text.sample_documents import SUFFIXES, read, sample, translated, zipped

from pipelines.documents import DocumentError, Options
from pipelines.documents.inline import Inline

CUE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"
PO = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={}\\n"\n\nmsgid "The dog"\nmsgstr ""\n'
)
ASS = "[Script Info]\n[Events]\nFormat: Layer, Text\nDialogue: 0,The {} dog\n"
UNIT = '<xliff version="1.2"><file><body><trans-unit><source>{}</source></trans-unit>'
UNIT += "</body></file></xliff>"
ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><xliff>&b;</xliff>'
NESTED = "".join([*(f"<a{n}>" for n in range(1500)), *(f"A</a{1499 - n}>" for n in range(1500))])
EXTERNAL = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff>&a;</xliff>'


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".txt", " " * 100_000),
        (".html", f"<p>a{' ' * 100_000}b</p>"),
        (".srt", CUE.format("<" * 100_000)),
        (".srt", CUE.format("a" + "</" * 50_000 + "a")),
        (".srt", CUE.format("a" + " " * 100_000 + "b")),
        (".srt", CUE.format("a b\n" * 20_000)),
        (".ass", ASS.format("{\\" * 50_000)),
        (".md", "[" * 10_000),
        (".po", 'msgid "The dog"\nmsgstr ""\n\n' * 10_000),
        (".md", "*a " * 3_000),
    ],
)
def test_the_time_for_a_pattern_is_about_linear(suffix, text):
    begin = time.process_time()
    translated(suffix, text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("suffix", "data", "message"),
    [
        (".xlf", ENTITIES, "declares XML entities"),
        (".xlf", EXTERNAL, "declares XML entities"),
        (".xlf", "<xliff>" + "<a>" * 1000 + "</a>" * 1000 + "</xliff>", "recursion"),
        (".xlf", "<html></html>", "is not XLIFF: it begins with <html>"),
        (".tmx", "<tmx><body>", "is not a valid .tmx file: no element found"),
        (".md", NESTED, "recursion"),
        (".md", "*a " * 20_000, "too many marks"),
        (".docx", b"\xd0\xcf\x11\xe0", "has a password or a format of Office 2003"),
        (".docx", "not a zip", "is not a valid .docx file: File is not a zip file"),
        (".srt", zipped({"a": b""}), "a binary file"),
        (".docx", zipped({"a.xml": b"<a/>"}), "no part with text"),
        (".docx", zipped({"../a.xml": b"<a/>"}), "outside of the document"),
        (".docx", zipped({"word/document.xml": b" " * 9_000_000}), "expands to 9,000,000 bytes"),
        (".docx", zipped({"_xmlsignatures/a.xml": b"<a/>"}), "it is signed"),
        (".odt", zipped({"content.xml": ENTITIES}), "declares XML entities"),
        (".txt", "a\0b", "a binary file"),
        (".txt", b"\xff\xe4", "can't decode byte 0xff .* Convert the document to UTF-8"),
        (".json", "{", "is not a valid .json file: Expecting"),
        (".json", '{"a": "{n, plural, one {x}"}', "an open brace"),
        (".json", '{"a": "The \\ud800 dog"}', "surrogates not allowed"),
        (".po", 'msgid "a"\n', "needs msgid and msgstr"),
        (".po", 'msgid "a"\nmsgid "b"\nmsgstr ""\n', "line 1: an entry needs msgid and msgstr"),
        (".srt", "hello", "no cue"),
        (".csv", 'text\nb\n"c"d\n', "row 3: text after a quoted field"),
        (".tsv", 'text\n"The dog\n', "row 2: text after a quoted field"),
        (".xyz", "", "no suffix of a known kind"),
    ],
)
def test_wrong_and_hostile_files_are_refused_with_their_name(suffix, data, message):
    with pytest.raises(DocumentError, match=message) as error:
        read(suffix, data)
    assert str(error.value).startswith(f"a{suffix} ")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_are_refused_or_right(suffix):
    draw, data = random.Random(suffix), sample(suffix)
    for _ in range(12):
        start, end = sorted(draw.randrange(len(data)) for _ in range(2))
        character = draw.choice([b"<", b"&", b'"', b"{", b"]]>", b"\n\n"])
        damaged = [
            data[:start],
            data[:start] + draw.randbytes(3) + data[start + 3 :],
            data[:start] + character + data[start:],
            data[:start] + data[min(end, start + 30) :],
        ]
        try:
            document = read(suffix, draw.choice(damaged))
        except DocumentError:
            continue
        document.write([unit.text.upper() for unit in document.units])


def test_tags_that_a_translator_invents_or_closes_twice_are_left_out():
    inline = Inline(str)
    inline.text("The dog")
    assert inline.written('A <g i="7">cat</g></g> <x i="9"/>sleeps') == "A cat sleeps"


def test_a_translation_that_the_encoding_of_a_file_lacks_is_refused():
    with pytest.raises(DocumentError, match=r"'latin-1' codec .* Convert the document to UTF-8"):
        translated(".po", PO.format("ISO-8859-1"), translate=lambda unit: "Łódź")


def test_encodings_are_kept_and_unknown_ones_are_utf_8():
    data = "\ufeffGröße\r\n".encode("utf-16-le")
    assert translated(".txt", data) == data[:2] + "GRÖSSE\r\n".encode("utf-16-le")
    for declared, encoding in (("ISO-8859-1", "latin-1"), ("base64", "utf-8")):
        head = f'<?xml version="1.0" encoding="{declared}"?>'
        data = f"{head}{UNIT.format('Größe')}".encode(encoding)
        assert "GRÖSSE".encode(encoding) in translated(".xlf", data)


@pytest.mark.parametrize("suffix", [".po", ".srt", ".markdown", ".json", ".xlf", ".csv"])
def test_line_ends_of_windows_stay(suffix):
    data = sample(suffix).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    written = translated(suffix, data)
    assert written.count(b"\r\n") == written.count(b"\n")
    assert written.replace(b"\r", b"") == translated(suffix, data.replace(b"\r", b""))


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        # Text that looks like one of our placeholders stays.
        (".md", "See {__0__} and {__7__} in `code`.", "SEE {__0__} AND {__7__} IN `code`."),
        (".json", '{"a": "See {__7__} and $t(x) now"}', '{"a": "SEE {__7__} AND $t(x) NOW"}'),
        (
            ".srt",
            CUE.format("a {__3__} {\\i1}b{\\i0} c."),
            CUE.format("A {__3__} {\\i1}B{\\i0} C."),
        ),
        # Attributes without quotes, or after a line break, and a button's text.
        (
            ".html",
            "<html lang=en><meta content='Dogs' name=description><img\n\talt='Cats' title=Cat>",
            "<html lang=de><meta content='DOGS' name=description><img\n\talt='CATS' title=\"CAT\">",
        ),
        (".html", "<input type=submit value='Go on'>", "<input type=submit value='GO ON'>"),
        # What Markdown escapes, its translation escapes.
        (".md", "1986\\. The dog", "1986\\. THE DOG"),
        (".md", "\\[The dog\\](x)", "\\[THE DOG\\](X)"),
        (".md", "\\# The \\<b> dog", "\\# THE \\<B> DOG"),
        # A line of code is not taken for a paragraph after a form feed.
        (".md", "A\f\f\f\n\n```\na\n```\n\na\n", "A\f\f\f\n\n```\na\n```\n\nA\n"),
        # Times of all lengths, hard spaces, and cues without an empty line between them.
        (".srt", "1\n0:0:1,0 --> 0:0:2,0\na\\hb", "1\n0:0:1,0 --> 0:0:2,0\nA\\hB"),
        (".srt", CUE.format("a") + CUE.format("b."), CUE.format("A") + CUE.format("B.")),
        # Tags in the text of a segment are markup.
        (
            *(".xlf", UNIT.format("&lt;p&gt;a &lt;b&gt;dog")),
            UNIT.format(
                "&lt;p&gt;a &lt;b&gt;dog</source>"
                '<target state="needs-review-translation">&lt;p&gt;A &lt;b&gt;DOG</target>'
            ).replace("</target></source>", "</target>"),
        ),
    ],
)
def test_texts_that_are_easily_spoilt(suffix, text, expected):
    options = Options(target="" if suffix == ".xlf" else "de")
    assert translated(suffix, text, options).decode() == expected


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".vtt", "WEBVTT\n\n00:01.000 --> 00:03.000\nTom &amp; Ann\n"),
        (".json", '{"a": "Tom &amp; Ann"}'),
        (".po", 'msgid "Tom &amp; Ann"\nmsgstr ""\n'),
    ],
)
def test_entities_are_markup(suffix, text):
    (unit,) = read(suffix, text).units
    assert unit == ("Tom &amp; Ann", "html")
