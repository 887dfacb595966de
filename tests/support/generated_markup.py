"""Random documents with markup, and a translator that does everything wrong that a model can.

python tests/support/generated_markup.py 10000
"""

import random
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

from pipelines.markup import pieces_of
from pipelines.placeholders import ONE, escaped, without_placeholders
from t2t_keras.decoding.marked_text import marked_text

WORDS = [
    "the",
    "dog",
    "sleeps,",
    "a",
    "house.",
    "Two",
    "cats",
    "(big)",
    "naïve",
    "你好",
    "x",
    "3.5",
    "-",
    "it's",
]
INVENTED = ["Haus,", "schläft", "%s", "{name}", "<b>", "&lt;", "", "und", "a@b.cc", "Ü."]
PLACED = [
    *("{name}", "{{ x }}", "${x}", "%s", "%(name)d", "%1$s", "%d%%", "{0}", "{a}/{b}"),
    *("https://a.example/b_(c)?d=1", "www.example.org", "me.you@example.org"),
]
ENTITIES = ["&amp;", "&lt;", "&gt;", "&#228;", "&#160;", "&#xAD;"]
INLINE = ["b", "i", "a", "span", "em"]
BLOCK = ["p", "div", "ul", "td"]
WHOLE = ["<!-- a <b> & --> ", "<img src='a>b'/>", "<br/>", "<code>a {x} b</code>"]


class Document:
    """A random well-formed document; each tag has an attribute of its own.

    Args:
        seed: random seed.
        markup: "html", "xml" or "placeholders".
    """

    def __init__(self, seed, markup):
        self.draw, self.markup, self.count = random.Random(f"{markup} {seed}"), markup, 0
        if markup == "placeholders":
            self.text = " ".join(self.word() for _ in range(self.draw.randrange(30)))
        else:
            self.text = f"<div>{self.inside(4)}</div>"

    def word(self):
        kind = self.draw.random()
        if kind < 0.15:
            placed = self.draw.choice(PLACED)
            return placed if placed[0] in "{$%" else f" {placed} "
        if kind < 0.25 and self.markup != "placeholders":
            return self.draw.choice(ENTITIES)
        return self.draw.choice(WORDS)

    def inside(self, depth):
        parts = []
        for _ in range(self.draw.randrange(8)):
            kind = self.draw.random()
            if kind < 0.55 or not depth:
                parts.append(self.word())
            elif kind < 0.6:
                parts.append(self.draw.choice(WHOLE))
            else:
                self.count += 1
                name = self.draw.choice(BLOCK if kind > 0.93 else INLINE)
                tag = f'<{name} id="{self.count}">'
                parts.append(f"{tag}{self.inside(depth - 1)}</{name}>")
            parts.append(self.draw.choice(["", " ", " ", " "]))
        return "".join(parts)


def mistranslated(text, draw):
    """Returns words of the source, of a wrong translation, and a random alignment."""
    source = text.split()
    target = [word for word in source if draw.random() > 0.2]
    draw.shuffle(target)
    for _ in range(draw.randrange(4)):
        target.insert(draw.randrange(len(target) + 1), draw.choice([*INVENTED, *source]))
    target = without_placeholders(" ".join(target)).split()
    pairs = [
        (draw.randrange(len(source)), index)
        for index in range(len(target))
        if draw.random() > 0.1 and source
    ]
    return source, target, pairs if draw.random() > 0.05 else []


def translated(text, markup, seed=0):
    """Translates a text with a translator that reorders, drops, repeats and invents words."""
    draw, written = random.Random(seed), []
    for piece in pieces_of(text, markup):
        if isinstance(piece, str):
            written.append(piece)
            continue
        source, target, pairs = mistranslated(piece.text, draw)
        words = (source, target, pairs)
        output = marked_text(piece, " ".join(target), *words, lambda text: escaped(text, markup))
        written.append(output)
    return "".join(written)


def check(document, output):
    """Raises an AssertionError if a translation has lost, changed or invented markup."""
    text, markup = document.text, document.markup
    assert placeholders(output, markup) == placeholders(text, markup), (text, output)
    if markup == "placeholders":
        return
    assert ElementTree.fromstring(output) is not None, "well-formed"
    for whole in [*WHOLE, "&#160;", "&#xAD;"]:
        assert output.count(whole.strip()) == text.count(whole.strip()), (whole, text, output)
    assert nesting(output) == nesting(text), (text, output)


def placeholders(text, markup):
    if markup != "placeholders":
        text = re.sub(r"<[^>]*>", " ", text.replace("'a>b'", ""))
    return sorted(re.findall(ONE, text))


def nesting(text):
    """Returns the parent of each element with an id, read by Python's parser of HTML."""
    parents, stack = {}, [None]

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if "id" in dict(attrs):
                parents[dict(attrs)["id"]] = stack[-1]
                stack.append(dict(attrs)["id"])
            elif tag != "img" and tag != "br":
                stack.append(tag)

        def handle_startendtag(self, tag, attrs):
            pass

        def handle_endtag(self, tag):
            stack.pop()

    Parser().feed(text)
    assert stack == [None], "every tag is closed"
    return parents


def check_documents(count):
    """Checks documents of each kind of markup and returns their number."""
    for seed in range(count):
        document = Document(seed, ("html", "xml", "placeholders")[seed % 3])
        check(document, translated(document.text, document.markup, seed))
    return count


if __name__ == "__main__":
    number = int(sys.argv[1])
    print(f"{check_documents(number):,} documents: well-formed, nothing lost, nothing invented")
