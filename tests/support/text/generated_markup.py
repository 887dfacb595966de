"""Random documents with markup, and translators that do nothing or everything wrong."""

import html
import itertools
import random
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from pipelines.markup.marked_text import Document
from pipelines.text.sentences import split_sentences
from t2t_keras.translating.markup.marked_translation import marked_text_of
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.words import Words

PLAIN = [
    *("the", "dog", "sleeps,", "a", "house.", "Two", "cats", "(big)", "naïve", "你好", "x", "3.5"),
    *("-", "it's"),
]
# They look like placeholders or addresses, and are words.
PERCENT = ["100%ige", "50%-discount", "5 %igen", "2 %", "%50a", "3@5.20", "niñ@s", "(50%ig)"]
WORDS = [*PLAIN, *PERCENT]
INVENTED = ["Haus,", "schläft", "%s", "{name}", "<b>", "&lt;", "", "und", "a@b.cc", "Ü.", "50%ig"]
PLACED = [
    *("{name}", "{{ x }}", "${x}", "%s", "%(name)d", "%1$s", "%d%%", "{0}", "{a}/{b}", "%5.2f"),
    *("https://a.example/b_(c)?d=1", "www.example.org", "me.you@example.org", "%-5d"),
]
ENTITIES = ["&amp;", "&lt;", "&gt;", "&#228;", "&#160;", "&#xAD;"]
INLINE = ["b", "i", "a", "span", "em"]
BLOCK = ["p", "div", "ul", "section"]
WHOLE = [
    *("<!-- a <b> & --> ", "<!--c\n</div>\n-->", "<img src='a>b'/>", "<br/>"),
    *("<code>a {x} b</code>", '<span translate="no">k <i>m</i></span>', "<br\nid='0'/>"),
    *("<pre>\nk  <u>k</u>\n\n</pre>", "<script>\nif (a &lt; b) k();\n</script>"),
    *('<i class="k notranslate"\n>k\nk</i>', "<img title='k\nk > k'/>"),
]
# The end tags are optional; the second text must not be translated.
OPEN = {
    "ul": ["<li>", '<li translate="no">k k'],
    "div": ["<p>", '<p translate="no">k <b>k</b>'],
    "dl": ["<dt>", "<dd>", '<dd class="notranslate">k'],
}


class Generated:
    """A random document of several lines; each tag has an attribute of its own."""

    def __init__(self, seed, markup):
        self.draw, self.markup, self.count = random.Random(f"{markup} {seed}"), markup, 0
        self.words = []  # that must reach the model
        if markup == "placeholders":
            self.text = " ".join(self.word() for _ in range(self.draw.randrange(30)))
        else:
            self.text = f"<div>{self.inside(4)}</div>"

    def word(self):
        kind = self.draw.random()
        if kind < 0.15:
            placed = self.draw.choice(PLACED)
            return placed if placed[0] in "{$" else f" {placed} "
        if kind < 0.25 and self.markup != "placeholders":
            entity = self.draw.choice(ENTITIES)
            self.words.append(html.unescape(entity))
            return entity
        self.words.append(self.draw.choice(WORDS))
        return self.words[-1]

    def inside(self, depth):
        parts = []
        for _ in range(self.draw.randrange(8)):
            kind = self.draw.random()
            if kind < 0.55 or not depth:
                parts.append(self.word())
            elif kind < 0.6:
                parts.append(self.draw.choice(WHOLE))
            elif kind < 0.62 and self.markup == "html":
                parts.append(self.list())
            else:
                name = self.draw.choice(BLOCK if kind > 0.93 else INLINE)
                parts.append(f"{self.tag(name)}{self.inside(depth - 1)}</{name}>")
            parts.append(self.draw.choice([" ", " ", "\n"]))
        return "".join(parts)

    def list(self):
        """A list whose items have no end tags."""
        name, items = self.draw.choice([*OPEN]), []
        for _ in range(self.draw.randrange(1, 4)):
            items += [self.draw.choice(OPEN[name]), self.draw.choice([" ", "\n"])]
            if "translate" not in items[-2]:
                items += [self.inside(1), self.word()]
        return f"{self.tag(name)}{''.join(items)}</{name}>"

    def tag(self, name):
        self.count += 1
        return f'<{name}{self.draw.choice(["", "", chr(10)])} id="{self.count}">'


def mistranslated(text, draw):
    """Returns words of the source, of a wrong translation, and a random alignment."""
    source = text.split()
    target = [word for word in source if draw.random() > 0.2]
    draw.shuffle(target)
    for _ in range(draw.randrange(4)):
        target.insert(draw.randrange(len(target) + 1), draw.choice([*INVENTED, *source]))
    return source, " ".join(target).split()


def translated(text, markup, draw=None):
    """Translates the lines of a text, and reorders, drops, repeats and invents words."""
    lines = text.split("\n")
    if markup != "placeholders":
        document = Document(markup)
        lines = [document.pieces_of(line) for line in lines]
    marked = (marked_text_of(line, markup, split_sentences) for line in lines)
    return "\n".join(translated_line(each, draw) for each in marked)


def translated_line(marked, draw):
    """Returns the translation of a `MarkedText`."""
    translations = []
    for sentence in marked.sentences:
        pairs = []
        if draw is None:
            source, target, written = sentence.split(), sentence.split(), sentence
        else:
            source, target = mistranslated(sentence, draw)
            written = " ".join(target)
        if draw is not None and draw.random() > 0.05 and source:
            pairs = [
                (draw.randrange(len(source)), place)
                for place in range(len(target))
                if draw.random() > 0.1
            ]
        translations.append(Translation(written, 0.0, [], Words(source, target, pairs)))
    return marked.marked(translations, [[]] * len(translations))


def read_by_the_model(text, markup):
    """Returns the letters and digits that reach the model."""
    document = Document(markup)
    pieces = [piece for line in text.split("\n") for piece in document.pieces_of(line)]
    return letters("".join(piece.text for piece in pieces if not isinstance(piece, str)))


def letters(text):
    return "".join(filter(str.isalnum, text))


def check(document, output):
    """Raises an AssertionError if a translation has lost, changed or invented markup."""
    text, markup = document.text, document.markup
    assert output.count("\n") == text.count("\n")
    assert placeholders(output, markup) == placeholders(text, markup), (text, output)
    if markup == "placeholders":
        return
    for each in [*WHOLE, *itertools.chain(*OPEN.values()), "&#160;", "&#xAD;"]:
        assert output.count(each.strip()) == text.count(each.strip()), (each, text, output)
    optional = re.compile("<(?:li|p|dt|dd)(?: translate=.no.| class=.notranslate.)?>")
    assert ElementTree.fromstring(optional.sub("", output)) is not None, "well-formed"
    assert optional.findall(output) == optional.findall(text)
    assert nesting(output) == nesting(text), (text, output)


def without_tags(text):
    text = re.sub("<!--.*?-->", "", text.replace("'a>b'", "").replace("k > k", ""), flags=re.DOTALL)
    return re.sub(r"</?[a-z][^>]*>", "|", text)


def placeholders(text, markup):
    text = text if markup == "placeholders" else without_tags(text)
    return {each: text.count(each) for each in [*PLACED, "a@b.cc"]}


def nesting(text):
    """Returns the parent of each element with an id, read by Python's parser of HTML."""
    parents, stack = {}, [None]

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if "id" in dict(attrs):
                parents[dict(attrs)["id"]] = stack[-1]
                stack.append(dict(attrs)["id"])
            elif tag not in ("img", "br", "li", "p", "dt", "dd"):
                stack.append(tag)

        def handle_startendtag(self, tag, attrs):
            pass

        def handle_endtag(self, tag):
            stack.pop()

    Parser().feed(text)
    assert stack == [None], "every tag is closed"
    return parents


def check_document(seed):
    """Checks a document: by a wrong translator, by one that changes nothing, and what is read."""
    document = Generated(seed, ("html", "xml", "placeholders")[seed % 3])
    text, markup, draw = document.text, document.markup, random.Random(seed)
    assert translated(text, markup) == text, "not translated: the same bytes"
    assert read_by_the_model(text, markup) == letters("".join(document.words)), text
    check(document, translated(text, markup, draw))
