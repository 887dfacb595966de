"""t2t-translate --markup: pages and marked lines."""

import json

import pytest
from support.processes.in_process import call

from pipelines.markup.marked_text import Document

QUICK = ["--beam=2", "--extra_length=3"]
PAGE = (
    b'\xef\xbb\xbf<!-- The dog\r\nsleeps. \xff --> <a\r\n href="The dog" title="\r\nx > y">The cat'
    b" sleeps.</a>\r\n \r\n<script>\nThe dog sleeps.\n</script>\n<pre>\n\n the dog\n</pre>"
    b"<ul><li\ntranslate='no'>The dog\n<li>The cat sleeps.</ul>\n<!-- The dog"
)


def translate(run, *arguments, stdin):
    return call("translate", *QUICK, *arguments, run.folder, stdin=stdin).stdout


def translated_page(run, path, *flags, stdin=PAGE):
    translate(run, "--markup=html", f"--output={path}", *flags, stdin=stdin)
    return path.read_bytes()


@pytest.mark.long
def test_markup_is_kept_in_every_kind_of_output(run):
    text = "<p>The <b>dog</b> sleeps.</p> {x}\n\nThe dog &amp; cat. Two <i>cats.\n"
    flags = ["--markup=html", "--json", "--alignments", "--n_best=2"]
    first, empty, second = map(json.loads, translate(run, *flags, stdin=text).splitlines())
    assert empty["translations"][0]["text"] == ""
    for each in first["translations"]:
        assert all(each["text"].count(mark) == 1 for mark in ("<p>", "</p>", "<b>", "</b>", "{x}"))
        assert each["text"].endswith("</p> {x}") and each["alignment"]
    assert all(each["text"].count("<i>") == 1 for each in second["translations"])
    lines = translate(run, "--markup=html", "--prefix=das mein", stdin=text).splitlines()
    assert lines[0].startswith("<p>") and "das" in lines[0]


@pytest.mark.long
def test_the_lines_of_a_page_are_one_document(run, tmp_path):
    text = translate(run, stdin="The cat sleeps.\n").rstrip("\n")
    expected = PAGE.replace(b"The cat sleeps.", text.encode())
    for lines in (1, 5000):
        assert translated_page(run, tmp_path / "out", f"--lines={lines}") == expected


def test_a_sentence_of_a_page_may_span_lines(run, tmp_path):
    page = b"<p>\nThe old man\r\n  sees the\ncat.</p>\nThe dog\n"
    flags = "--markup=html", f"--output={tmp_path}/one"
    translate(run, *flags, stdin=b"<p>The old man sees the cat.</p>")
    written = translated_page(run, tmp_path / "out", stdin=page)
    assert all(written.count(end) == page.count(end) for end in (b"\n", b"\r\n  "))
    whole = (tmp_path / "one").read_bytes()
    words, expected = (
        page.split(b"</p>")[0].replace(b"<p>", b"").split() for page in (written, whole)
    )
    assert words == expected


def test_tags_of_xml_that_do_not_match_are_named(run):
    done = call("translate", run.folder, "--markup=xml", stdin="<a>The cat</b>\n</a></c>\n")
    assert done.stderr.count("WARNING: </b> does not match") == done.stderr.count("WARNING") == 1


def test_a_resumed_page_is_read_from_its_first_line(run, tmp_path, monkeypatch):
    page = b"<!--\nThe dog\n-->The dog\n<pre>\nThe dog\nThe cat</pre>\n"
    expected = translated_page(run, tmp_path / "whole", stdin=page)
    assert expected.endswith(b"<pre>\nThe dog\nThe cat</pre>\n")
    divide = Document.pieces_of

    def killed(document, line):
        if "The cat" in line:
            raise KeyboardInterrupt
        return divide(document, line)

    with monkeypatch.context() as patches, pytest.raises(KeyboardInterrupt):
        patches.setattr(Document, "pieces_of", killed)
        translated_page(run, tmp_path / "out", "--lines=2", stdin=page)
    assert (tmp_path / "out.unfinished").stat().st_size
    assert translated_page(run, tmp_path / "out", "--lines=2", stdin=page) == expected
