"""Texts with markup, divided into text to translate and markup."""

import pytest

from pipelines.markup.marked_text import Document, Segment, pieces_of
from pipelines.markup.markup_tokens import IN_TEXT, MarkupTokenizer
from pipelines.markup.placeholders import PLACEHOLDERS, escaped, without_placeholders

PLACED = "{name} {{x}} ${x} %s %(name)d %1$s %d%% %.2f {0} {} https://a.b/c_(d)?e=1&f=2 a.b@c.org"
WORDS = """100%ige|a 50%-discount|5 %igen|50%er|100%ig|25%a|3%-ige|50%:ig|%-os|50 %-os|50%s|10%p
    |the %age|%50a|50 %de|100&nbsp;%ige|(50)%ige|a%2Fb|3@5.20|niñ@s.|z.B.www|{the dog, a cat}"""
FORMATS = """%d|%s|%i|%u|%@|%%|%1$s|%(name)s|%-5d|%5.2f|%02d|%ld|%*d|%s's|x%dy|%dpx|%dMB|%.1fKB
    |%sName|%s的|%d개|1 %s|100%%|10%(x)s"""
UGLY = [
    *("<", "a < b & c", "<a href='x>y'>z", '<a href="', "<!-- x", "<![CDATA[a", "<?php x", "&"),
    *("<!DOCTYPE a [<!ENTITY b 'c]>'>]>x", "</>", "<p>a<p>b", "<b><i>c</b></i>", "&foo; &amp x"),
]


def texts_in(pieces):
    return [piece.text for piece in pieces if isinstance(piece, Segment)]


def test_every_placeholder_and_address_is_found_whole():
    assert PLACEHOLDERS.findall(f"{PLACED}, then.") == PLACED.split()
    assert PLACEHOLDERS.findall("see https://a.b/c. (a@b.org) {a}/{b} {{ x }}!") == [
        *("https://a.b/c", "a@b.org", "{a}/{b}", "{{ x }}")
    ]
    assert PLACEHOLDERS.findall("见https://a.b/c。然后me@a.org谢谢") == [
        *("https://a.b/c", "me@a.org")
    ]


@pytest.mark.parametrize("word", WORDS.split("|"))
def test_a_word_with_a_percent_sign_or_an_at_sign_is_no_placeholder(word):
    assert PLACEHOLDERS.findall(word) == []


@pytest.mark.parametrize("text", FORMATS.split("|"))
def test_a_conversion_of_printf_is_found_beside_words(text):
    (found,) = PLACEHOLDERS.findall(f"a {text} b")
    assert found in text and found[0] == "%" and found[-1] in "%@dsiuf"


def test_only_invented_placeholders_are_removed():
    assert without_placeholders("Haus %s, 50 % der {x}") == "Haus , 50 % der "
    for text in ("hund@tier.de", "{Hund}", "%s"):
        assert without_placeholders(f"Der {text}, {{x}}.") == "Der , ."
        for kept in ({"required": [text]}, {"source": f"a {text} b"}):
            assert without_placeholders(f"Der {text}, a@b.cc.", **kept) == f"Der {text}, ."
    braces = {"source": "{the dog, a cat}"}
    assert without_placeholders("{Hund, eine Katze} %d", **braces) == "{Hund, eine Katze} "
    assert without_placeholders("{name}", required=["e", ""]) == "", "not a part of a word"


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
        ("<a href=http://a.b/>c</a> d", ["c d"]),
        # Elements that must not be translated end where HTML ends them.
        ('<ul><li translate="no">A<li>B</ul><p>C', ["B", "C"]),
        ('<ul><li translate="no">A <b>x<ul><li>y</ul>z</ul><p>C', ["C"]),
        ('<dl><dt class="notranslate">A<dd>B<dt>C</dl>', ["B", "C"]),
        ('<p translate="no">A <b>x<p>B', ["B"]),
        ('<p translate="no">A<div>B</div>', ["B"]),
        ('<table><tr><td translate="no">A<td>B<tr><th>C</table>D', ["B", "C", "D"]),
        ('<table><tr translate="no"><td>A<td>B<tr><td>C</table>D', ["C", "D"]),
        ('<ruby>a<rp translate="no">A<rt>B</ruby>', ["a", "B"]),
        ('<head translate="no"><title>A</title><body>B', ["B"]),
        ('<div translate="no">A<span translate="yes">B</span>C</div>D', ["B", "D"]),
        ('a<br translate="no">B<img translate="no">C', ["a", "BC"]),
        ('<div><span translate="no">A</div>B', ["B"]),
        ('<span translate="no">A</p>B</span>C', ["C"]),
    ],
)
def test_html_is_divided_at_blocks_and_its_entities_are_decoded(text, segments):
    assert texts_in(pieces_of(text, "html")) == segments


PAGE = """<!DOCTYPE html [
<!ENTITY a "b">
]>
<title>
A 1
</title><!-- b
<p>c</p>
d -->A 2 <a
href="e" title='f > g
h'>A 3</a
> <script>
if (a < b) "</p>"
</script
>
<pre>k

  l</pre>
<ul
translate=no><li>m
<li>n
</ul>
A <b>4
A</b> 5 <?php
o ?> A 6 <![CDATA[
p
]]> A 7 <!-- q"""


def test_tags_comments_and_elements_of_a_document_span_lines():
    document, found = Document("html"), []
    for line in PAGE.split("\n"):
        pieces = document.pieces_of(line)
        assert "".join(each if isinstance(each, str) else each.raw for each in pieces) == line
        found += texts_in(pieces)
    assert found == ["A 1", "A 2", "A 3", "A 4", "A 5", "A 6", "A 7"]
    whole = ["A 1", "A 2 A 3", "A 4", "A 5", "A 6", "A 7"]
    assert texts_in(pieces_of(PAGE, "html")) == whole, "as one text"


@pytest.mark.parametrize(
    ("text", "markup", "found"),
    [
        ("<p>Old\r\n\n  <b>man\nsees</b> A\n</p>", "html", ["Old man sees A"]),
        ("<pre translate=yes>A\n<b>B\nC</b></pre>", "html", ["A", "B", "C"]),
        ("A\nB <b>C\nD</b>", "xml", ["A", "B C D"]),
        ("A List<String> B\nC <i>D\nE</i>", "html", ["A List B", "C D", "E"]),
        ("<p xml:space='preserve'>A\n<b>B</b></p>", "xml", ["A", "B"]),
        ("<p xml:space='preserve'><q xml:space='default'>A\nB</q></p>", "xml", ["A B"]),
    ],
)
def test_a_line_break_inside_an_element_is_a_space(text, markup, found):
    assert texts_in(pieces_of(text, markup)) == found


@pytest.mark.parametrize("text", [*UGLY, PAGE])
@pytest.mark.parametrize("markup", ["html", "xml", "placeholders"])
def test_joined_tokens_are_the_text_or_its_lines(text, markup):
    assert "".join(token.raw for token in MarkupTokenizer(markup, IN_TEXT).tokens(text)) == text
    tokenizer = MarkupTokenizer(markup)
    for line in [*text.split("\n"), "]-- x", "'>", "y"]:
        assert "".join(token.raw for token in tokenizer.tokens(line)) == line


@pytest.mark.parametrize("begun", ["<!--", "<a b='", "<a translate='no' ", "<!a ["])
def test_long_unfinished_markup_ends_where_it_must(begun):
    document = Document("html")
    for line in [begun, *["a=b " * 100] * 50]:
        assert document.pieces_of(line) == [line]
    assert begun != "<!--" or len(document.begun) < 10, "comments may be long"
    end = {"'": "'>", "[": "]>"}.get(begun[-1], "-->")
    assert document.pieces_of(end) == [end]
    assert len(texts_in(document.pieces_of("A"))) == ("translate" not in begun)


@pytest.mark.parametrize("markup", ["html", "xml", "placeholders"])
def test_plain_text_is_one_segment_without_marks(markup):
    for text in ("The dog sleeps. ...", "..."):
        assert pieces_of(text, markup) == [Segment(text, (), raw=text)]
    is_plain = markup == "placeholders"
    assert escaped("a<b & c", markup) == ("a<b & c" if is_plain else "a&lt;b &amp; c")
    assert ("\x01" in escaped("\x01", markup)) == (markup != "xml")


def test_elements_of_xml_divide_the_text_unless_text_stands_beside_them():
    text = "<doc><title>A</title><para>B <term>c</term> d &foo;</para></doc>"
    assert texts_in(pieces_of(text, "xml")) == ["A", "B c d"]
