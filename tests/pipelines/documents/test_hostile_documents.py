"""Documents that would take hours, lose a text, or end with a traceback."""

import io
import re
import time
import zipfile
from pathlib import Path

import polib
import pytest
from support.text.sample_documents import loud

from pipelines.documents import DocumentError, Options, read_document

CUE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"
XML = '<?xml version="1.0" encoding="{}"?><xliff/>'
PO = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={}\\n"\n\nmsgid "The dog"\nmsgstr ""\n'
)
ASS = "[Script Info]\n[Events]\nFormat: Layer, Text\nDialogue: 0,The {} dog\n"


def read(suffix, text):
    return read_document(Path(f"a{suffix}"), text.encode(), Options("en", "de", column="a"))


def translated(suffix, text, translate=loud):
    document = read(suffix, text)
    return document.write([translate(unit) for unit in document.units]).decode()


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
    ("suffix", "text", "message"),
    [
        (".xlf", XML.format("base64"), "not encoded in base64"),
        (".md", "*a " * 20_000, "too many marks"),
        (".csv", 'a\nb\n"c"d\n', "row 3: text after a quoted field"),
        (".tsv", 'a\n"The dog\n', "row 2: text after a quoted field"),
        (".json", '{"a": "The \\ud800 dog"}', "is not JSON: .*surrogates"),
        (".po", 'msgid "a"\nmsgid "b"\nmsgstr ""\n', "line 1: an entry needs msgid and msgstr"),
    ],
)
def test_wrong_files_are_refused(suffix, text, message):
    with pytest.raises(DocumentError, match=message):
        read(suffix, text)


def test_a_translation_that_the_encoding_of_a_file_lacks_is_refused():
    with pytest.raises(DocumentError, match=r"'latin-1' codec .* Convert the document to UTF-8"):
        translated(".po", PO.format("ISO-8859-1"), lambda unit: "Łódź")


def test_attributes_without_quotes_or_after_a_line_break_are_translated():
    text = "<html lang=en><meta content='A dog' name=description><img\n\talt='A big cat' title=Cat>"
    expected = text.replace("lang=en", "lang=de").replace("A dog", "A DOG")
    expected = expected.replace("A big cat", "A BIG CAT").replace("title=Cat", 'title="CAT"')
    assert translated(".html", text) == expected
    assert translated(".html", "<input type=submit value='Go on'>").endswith("'GO ON'>")


@pytest.mark.parametrize("text", ["1986\\. The dog\n", "\\[The dog\\](x)\n", "\\# The \\<b> dog\n"])
def test_what_markdown_escapes_its_translation_escapes(text):
    assert translated(".md", text).lower() == text.lower()


def test_a_line_of_code_is_not_taken_for_a_paragraph_after_a_form_feed():
    text = "A\f\f\f\f\n\n```\nthe dog\n```\n\nthe dog\n"
    assert translated(".md", text).endswith("```\nthe dog\n```\n\nTHE DOG\n")


def test_cues_without_an_empty_line_between_them_are_two():
    text = CUE.format("The dog") + CUE.format("sleeps.").replace("1\n0", "2\n0")
    assert [unit.text for unit in read(".srt", text).units] == ["The dog sleeps."]
    assert translated(".srt", text) == CUE.format("THE DOG") + CUE.format("SLEEPS.").replace(
        "1\n0", "2\n0"
    )


def test_times_of_all_lengths_and_hard_spaces_of_subtitles():
    text = re.sub("00:00:0", "0:0:0", CUE.format("The dog\\hsleeps."))
    assert translated(".srt", text) == text.replace("The dog", "THE DOG").replace(
        "sleeps", "SLEEPS"
    )


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


NOTE = "<n><p>A note</p></n>"


@pytest.mark.parametrize("text", [f"<s>{NOTE}word</s>", f"<s>word{NOTE}</s>", f"{NOTE}word"])
def test_notes_at_the_edge_of_a_style_are_translated(text):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as file:
        file.writestr("content.xml", f"<d><p>A {text} here</p></d>")
    document = read_document(Path("a.odt"), written.getvalue(), Options())
    data = document.write([loud(unit) for unit in document.units])
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        expected = text.replace("word", "WORD").replace("A note", "A NOTE")
        assert file.read("content.xml").decode() == f"<d><p>A {expected} HERE</p></d>"


def test_tags_in_the_text_of_a_segment_are_markup():
    unit = "<trans-unit><source>&lt;p&gt;The &lt;b&gt;dog&lt;/b&gt; sleeps</source></trans-unit>"
    text = f'<xliff version="1.2"><file><body>{unit}</body></file></xliff>'
    assert "&lt;p&gt;THE &lt;b&gt;DOG&lt;/b&gt; SLEEPS</target>" in translated(".xlf", text)


def test_po_entries_without_an_empty_line_between_them():
    entry = '#, c-format\nmsgctxt "a"\nmsgid ""\n"The "\n"dog"\nmsgid_plural "Dogs"\n'
    text = entry + 'msgstr[0] ""\nmsgstr[1] ""\n#, fuzzy\nmsgid "A cat"\nmsgstr ""\n# end\n'
    one, two = polib.pofile(translated(".po", text))
    assert (one.msgstr_plural, two.msgstr) == ({0: "THE DOG", 1: "DOGS"}, "A CAT")
    assert (one.flags, two.flags) == (["fuzzy", "c-format"], ["fuzzy"])
