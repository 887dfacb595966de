"""XML as a tree of elements with their places in the file, for edits that keep all other text."""

import html
import re
from xml.parsers import expat

from pipelines.documents.document import DocumentError
from pipelines.markup.html_elements import ATTRIBUTE

TOKEN = re.compile(
    r"<!\[CDATA\[(?P<data>.*?)\]\]>|<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>"
    r"|<(?P<close>/?)(?P<name>[^\s/>]+)(?P<rest>(?:[^>\"']++|\"[^\"]*\"|'[^']*')*+)>|(?P<text>[^<]+)",
    re.S,
)


class Node:
    """An element, a stretch of text, or a comment or instruction.

    Attributes:
        name: the name of an element without the prefix of its namespace; None for text, and "" for
            a comment or an instruction.
        start, inside, after, end: offsets of the start tag, the content, the end tag, and of what
            follows the element. For `<a/>`, the last three are equal.
        children: `Node`s, in order.
    """

    def __init__(self, name, start, inside, rest="", text=""):
        self.name, self.rest, self.own_text, self.children = name, rest, text, []
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
        return [each for each in self.children if each.name is not None]

    @property
    def text(self):
        """The decoded text of the node and of all nodes inside it."""
        return self.own_text + "".join(each.text for each in self.children)

    def find(self, *names):
        """Yields the outermost elements with one of the names, in order."""
        for child in self.elements:
            if child.name in names:
                yield child
            else:
                yield from child.find(*names)

    def child(self, name):
        """Returns the first child with a name, or None."""
        return next((each for each in self.children if each.name == name), None)


def root_of(document, *names):
    """Returns the root `Node` of an XML file, which must have one of the names if there are any.

    Documents that declare entities are refused: a small file could expand to a huge text, and an
    entity may name another file.
    """

    def refuse(*declared):
        raise DocumentError("it declares XML entities, which may be unsafe. Remove its DOCTYPE")

    parser = expat.ParserCreate("utf-8")
    parser.EntityDeclHandler = parser.SkippedEntityHandler = refuse
    parser.Parse(document.text.encode(), True)  # fails if the file is not well-formed
    stack = [Node("", 0, 0)]
    for match in TOKEN.finditer(document.text):
        start, end = match.span()
        siblings = stack[-1].children
        text = match["data"] if match["text"] is None else html.unescape(match["text"])
        if text is not None and siblings and siblings[-1].name is None:
            siblings[-1].own_text += text
            siblings[-1].end = end
        elif text is not None:
            siblings.append(Node(None, start, end, text=text))
        elif match["close"]:
            element = stack.pop()
            element.after, element.end = start, end
        else:
            name = (match["name"] or "").rpartition(":")[2]
            siblings.append(Node(name, start, end, match["rest"] or ""))
            if name and not match["rest"].endswith("/"):
                stack.append(siblings[-1])
    root = next(each for each in stack[0].elements if each.name)
    if names and root.name not in names:
        raise DocumentError(f"it is not {names[0].upper()}: it begins with <{root.name}>")
    return root
