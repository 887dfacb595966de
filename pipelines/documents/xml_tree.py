"""XML as a tree of elements with their places in the file, for edits that keep all other text."""

import html
import re
from xml.parsers import expat

from pipelines.documents.document import DocumentError
from pipelines.markup.html_elements import ATTRIBUTE

DEEPEST = 500  # maximum number of nested elements
TOKEN = re.compile(
    r"<!\[CDATA\[(?P<data>.*?)\]\]>|<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>"
    r"|<(?P<close>/?)(?P<name>[^\s/>]+)(?P<rest>(?:[^>\"']++|\"[^\"]*\"|'[^']*')*+)>|(?P<text>[^<]+)",
    re.S,
)


class Element:
    """An element of an XML file, or a comment or instruction, whose name is "".

    Attributes:
        name: the name without the prefix of its namespace.
        start, inside, after, end: offsets of the start tag, the content, the end tag, and of what
            follows the element. For `<a/>`, the last three are equal.
        children: `Element`s and `Text`s, in order.
    """

    def __init__(self, name, rest, start, inside):
        self.name, self.rest, self.children = name.rpartition(":")[2], rest, []
        self.start, self.inside, self.after, self.end = start, inside, inside, inside

    @property
    def attributes(self):
        """{name without prefix: value}"""
        return {
            match[1].rpartition(":")[2]: html.unescape(match[2] or match[3] or "")
            for match in ATTRIBUTE.finditer(self.rest)
        }

    @property
    def elements(self):
        return [each for each in self.children if isinstance(each, Element)]

    @property
    def text(self):
        """The text of the element and of all elements inside it."""
        return "".join(each.text for each in self.children)

    def find(self, *names):
        """Yields the outermost elements with one of the names, in order."""
        for child in self.elements:
            if child.name in names:
                yield child
            else:
                yield from child.find(*names)

    def child(self, name):
        """Returns the first child with a name, or None."""
        return next((each for each in self.elements if each.name == name), None)


class Text:
    """A stretch of text, decoded, and the offsets of its start and end."""

    def __init__(self, text, start, end):
        self.text, self.start, self.end = text, start, end


def root_of(document, *names):
    """Returns the root `Element` of an XML file, which must have one of the names if there are any.

    Documents that declare entities are refused: a small file could expand to a huge text, and an
    entity may name another file.
    """
    check(document.text)
    stack = [Element("", "", 0, 0)]
    for match in TOKEN.finditer(document.text):
        start, end = match.span()
        siblings = stack[-1].children
        text = match["data"] if match["text"] is None else html.unescape(match["text"])
        if text is not None and siblings and isinstance(siblings[-1], Text):
            siblings[-1].text += text
            siblings[-1].end = end
        elif text is not None:
            siblings.append(Text(text, start, end))
        elif match["close"]:
            element = stack.pop()
            element.after, element.end = start, end
        else:
            siblings.append(Element(match["name"] or "", match["rest"] or "", start, end))
            if match["name"] and not match["rest"].endswith("/"):
                stack.append(siblings[-1])
            if len(stack) > DEEPEST:
                raise DocumentError(f"its elements are nested more than {DEEPEST} deep")
    root = next(each for each in stack[0].elements if each.name)
    if names and root.name not in names:
        raise DocumentError(f"it is not {names[0].upper()}: it begins with <{root.name}>")
    return root


def check(text):
    """Refuses a text that is not well-formed XML or that declares entities."""

    def refused(*declared):
        raise DocumentError("it declares XML entities, which may be unsafe. Remove its DOCTYPE")

    parser = expat.ParserCreate("utf-8")
    parser.EntityDeclHandler = parser.SkippedEntityHandler = refused
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise DocumentError(f"it is not well-formed XML: {error}") from None
