"""Texts with markup, divided into text to translate and markup."""

import time

import pytest

from pipelines.markup import Segment, pieces_of
from pipelines.markup_tokens import tokens_of
from pipelines.placeholders import PLACEHOLDERS, escaped, without_placeholders

KEPT = "{name} {{ x }} ${x} %s %(name)d %1$s %d%% %.2f {0} {} https://a.b/c_(d)?e=1&f=2 a.b@c.org"
UGLY = [
    *("<", "a < b & c", "<a href='x>y'>z", '<a href="', "<!-- x", "<![CDATA[a", "<?php x", "&"),
    *("<!DOCTYPE a [<!ENTITY b 'c]>'>]>x", "</>", "<p>a<p>b", "<b><i>c</b></i>", "&foo; &amp x"),
]


def texts_of(text, markup="html"):
    return [piece.text for piece in pieces_of(text, markup) if isinstance(piece, Segment)]


@pytest.mark.parametrize("markup", ["html", "xml", "placeholders"])
@pytest.mark.parametrize("text", UGLY)
def test_joined_tokens_are_the_text(text, markup):
    assert "".join(token.raw for token in tokens_of(text, markup)) == text


def test_every_placeholder_and_address_is_found_whole():
    assert PLACEHOLDERS.findall(f"{KEPT}, then.") == KEPT.replace("{{ x }}", "{{_x_}}").replace(
        " ", "\n"
    ).replace("{{_x_}}", "{{ x }}").split("\n")
    assert PLACEHOLDERS.findall("see https://a.b/c. (a@b.org) {a}/{b}!") == [
        *("https://a.b/c", "a@b.org", "{a}/{b}")
    ]
    assert without_placeholders("Haus %s, 50 % der {x}") == "Haus , 50 % der "


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("<p>One <b>big</b> dog.</p><p>Two.", ["One big dog.", "Two."]),
        ("a<br>b<ul><li>c<li>d</ul>", ["a", "b", "c", "d"]),
        ("<script>if (a<b) c</script>d<style>e</style><pre>f <b>g</b></pre>", ["d"]),
        ("run <code>ls -l</code> now", ["run  now"]),
        ("keep <span translate='no'>A <i>B</i></span> so", ["keep  so"]),
        ("AT&amp;T &lt;3 M&#228;dchen", ["AT&T <3 Mädchen"]),
        ("a < b & c", ["a < b & c"]),
        ("10&nbsp;km &unknown; x", ["10 km  x"]),
        ("{a}/{b} <b>%s</b>", []),
        ("<b><i>x</b> y</i>", ["x", "y"]),
        ("Hello {name}, hi", ["Hello, hi"]),
    ],
)
def test_html_is_divided_at_blocks_and_its_entities_are_decoded(text, segments):
    assert texts_of(text) == segments


def test_elements_of_xml_divide_the_text_unless_text_stands_beside_them():
    text = "<doc><title>A</title><para>B <term>c</term> d &foo;</para></doc>"
    assert texts_of(text, "xml") == ["A", "B c d"]


def test_plain_text_is_one_segment_without_marks():
    for markup in ("html", "xml", "placeholders"):
        assert pieces_of("The dog sleeps. ...", markup) == [Segment("The dog sleeps. ...", ())]
        assert pieces_of("...", markup) == [Segment("...", ())]


def test_escaped_text_is_no_markup():
    assert escaped("a<b & \x01c", "xml") == "a&lt;b &amp; c"
    assert escaped("a<b & c", "placeholders") == "a<b & c"


@pytest.mark.parametrize(
    "text", ["<" * 50000, "<b>" * 50000, "a" * 300000, "<a b='" * 5000, "&" * 50000, "%d" * 50000]
)
def test_the_time_grows_with_the_length_of_the_text(text):
    began = time.process_time()
    pieces_of(text, "html")
    assert time.process_time() - began < 10
