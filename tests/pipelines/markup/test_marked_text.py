"""Texts with markup, divided into text to translate and markup."""

import time

import pytest

from pipelines.markup.marked_text import Document, Segment, pieces_of
from pipelines.markup.markup_tokens import MarkupTokenizer, tokens_of
from pipelines.markup.placeholders import PLACEHOLDERS, escaped, without_placeholders

KEPT = "{name} {{ x }} ${x} %s %(name)d %1$s %d%% %.2f {0} {} https://a.b/c_(d)?e=1&f=2 a.b@c.org"
WORDS = [
    *(
        "100%ige",
        "a 50%-discount",
        "5 %igen",
        "50%er",
        "100%ig",
        "25%a",
        "3%-ige",
        "50%:ig",
        "%-os",
    ),
    *(
        "50 %-os",
        "50%s",
        "10%p",
        "the %age",
        "%50a",
        "50 %de",
        "100&nbsp;%ige",
        "(50)%ige",
        "a%2Fb",
    ),
    *("3@5.20", "niñ@s.", "z.B.www", "{the dog, a cat}"),
]
FORMATS = [
    *(
        "%d",
        "%s",
        "%i",
        "%u",
        "%@",
        "%%",
        "%1$s",
        "%(name)s",
        "%-5d",
        "%5.2f",
        "%02d",
        "%ld",
        "%*d",
    ),
    *(
        "%s's",
        "x%dy",
        "%dpx",
        "%dMB",
        "%.1fKB",
        "%sName",
        "%s的",
        "%d개",
        "1 %s",
        "100%%",
        "10%(x)s",
    ),
]
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
    assert PLACEHOLDERS.findall("见https://a.b/c。然后me@a.org谢谢") == [
        "https://a.b/c",
        "me@a.org",
    ]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_with_a_percent_sign_or_an_at_sign_is_no_placeholder(word):
    assert PLACEHOLDERS.findall(word) == []


@pytest.mark.parametrize("text", FORMATS)
def test_a_conversion_of_printf_is_found_beside_words(text):
    (found,) = PLACEHOLDERS.findall(f"a {text} b")
    assert found in text and found[0] == "%" and found[-1] in "%@dsiuf"


def test_only_invented_placeholders_are_removed():
    assert without_placeholders("Haus %s, 50 % der {x}") == "Haus , 50 % der "
    for text in ("hund@tier.de", "www.hund.de/x", "{Hund}", "%s"):
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
        ("a 50%-discount on {x}", ["a 50%-discount on"]),
        ("<a href=http://a.b/>c</a> d", ["c d"]),
        ('<i title="translate=no" class="not-notranslate">a</i>', ["a"]),
        ("<script>'</b>'<!--</script>a", ["a"]),
    ],
)
def test_html_is_divided_at_blocks_and_its_entities_are_decoded(text, segments):
    assert texts_of(text) == segments


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ('<ul><li translate="no">A<li>B</ul><p>C', ["B", "C"]),
        ('<ul><li translate="no">A <b>x<ul><li>y</ul>z</ul><p>C', ["C"]),
        ('<dl><dt class="notranslate">A<dd>B<dt>C</dl>', ["B", "C"]),
        ('<p translate="no">A <b>x<p>B', ["B"]),
        ('<p translate="no">A<div>B</div>', ["B"]),
        ('<p translate="no">A</div>B', ["B"]),
        ('<div><p translate="no">A</div>B', ["B"]),
        ('<table><tr><td translate="no">A<td>B<tr><th>C</table>D', ["B", "C", "D"]),
        ('<table><tr translate="no"><td>A<td>B<tr><td>C</table>D', ["C", "D"]),
        ('<table><thead translate="no"><tr><td>A<tbody><tr><td>B</table>', ["B"]),
        ('<table><td translate="no">A<table><td>B</table>C<td>D</table>', ["D"]),
        ('<select><optgroup translate="no"><option>A<optgroup><option>B</select>', ["B"]),
        ('<ruby>a<rp translate="no">A<rt>B</ruby>', ["a", "B"]),
        ('<head translate="no"><title>A</title><body>B', ["B"]),
        ('<div translate="no">A<span translate="yes">B</span>C</div>D', ["B", "D"]),
        ('<ul translate="no"><li>A<li translate="yes">B<li>C</ul>D', ["B", "D"]),
        ('a<br translate="no">B<img translate="no">C', ["a", "BC"]),
        ('<div><span translate="no">A</div>B', ["B"]),
        ('<span translate="no">A</p>B</span>C', ["C"]),
        ('<div translate="no">A</p></b>B</div>C', ["C"]),
        ('<li translate="no">A</ul>B', ["B"]),
    ],
)
def test_an_untranslated_element_ends_where_html_ends_it(text, segments):
    assert texts_of(text) == segments
    assert "".join(token.raw for token in tokens_of(text, "html")) == text


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
        found += [each.text for each in pieces if isinstance(each, Segment)]
    assert found == ["A 1", "A 2", "A 3", "A 4", "A 5", "A 6", "A 7"]
    assert texts_of(PAGE) == ["A 1", "A 2 A 3", "A 4\nA 5", "A 6", "A 7"], "as one text"


@pytest.mark.parametrize("text", [*UGLY, PAGE])
@pytest.mark.parametrize("markup", ["html", "xml", "placeholders"])
def test_joined_tokens_of_lines_are_the_lines(text, markup):
    tokenizer = MarkupTokenizer(markup)
    for line in [*text.split("\n"), "]-- x", "'>", "y"]:
        assert "".join(token.raw for token in tokenizer.tokens(line)) == line


@pytest.mark.parametrize("begun", ["<!--", "<a b='", "<a translate='no' ", "<!a ["])
def test_long_unfinished_markup_is_kept_short_and_ends_where_it_must(begun):
    document = Document("html")
    for line in [begun, *["a=b " * 100] * 50]:
        assert document.pieces_of(line) == [line] and len(document.tokenizer.begun) < 2500
    end = {"'": "'>", "[": "]>"}.get(begun[-1], "-->")
    assert document.pieces_of(end) == [end]
    texts = [each for each in document.pieces_of("A") if isinstance(each, Segment)]
    assert len(texts) == ("translate" not in begun)


def test_elements_of_xml_divide_the_text_unless_text_stands_beside_them():
    text = "<doc><title>A</title><para>B <term>c</term> d &foo;</para></doc>"
    assert texts_of(text, "xml") == ["A", "B c d"]


def test_plain_text_is_one_segment_without_marks():
    for markup in ("html", "xml", "placeholders"):
        for text in ("The dog sleeps. ...", "..."):
            assert pieces_of(text, markup) == [Segment(text, (), raw=text)]


def test_escaped_text_is_no_markup():
    assert escaped("a<b & \x01c", "xml") == "a&lt;b &amp; c"
    assert escaped("a<b & c", "placeholders") == "a<b & c"


@pytest.mark.parametrize(
    "text",
    [
        *("<" * 50000, "<b>" * 20000, "a" * 300000, "<a b='" * 5000, "&" * 50000, "%d" * 50000),
        *("{" + " " * 50000, "<a" * 20000, "<www." * 5000, '<a b=">"' * 10000),
    ],
)
def test_the_time_grows_with_the_length_of_the_text(text):
    began = time.process_time()
    pieces_of(text, "html")
    Document("html").pieces_of(text)
    without_placeholders(f"{text}%d,a " * 2, f"{text}%d,a ")
    assert time.process_time() - began < 10


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_a_tag_that_spans_lines_may_contain_a_greater_than_sign_in_quotes(markup):
    document = Document(markup)
    for line in ("<a title='b > c'", 'href="d"', '@click="() => e"'):
        assert document.pieces_of(line) == [line]
    assert [getattr(each, "text", each) for each in document.pieces_of("x='y'>B")] == [
        "x='y'>",
        "B",
    ]


def test_conditions_and_namespaces_of_word_end_like_tags():
    lines = "<![if !mso]>A<![endif]> B\n<?xml:namespace prefix=o />C\n<?xml:a\nb>D"
    document = Document("html")
    pieces = [piece for line in lines.split("\n") for piece in document.pieces_of(line)]
    assert [each.text for each in pieces if isinstance(each, Segment)] == ["A", "B", "C", "D"]
