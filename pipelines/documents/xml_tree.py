"""XML as a tree of elements with their places in the file, for edits that keep all other text."""

import html
import re
from xml.parsers import expat

from pipelines.documents.document import DocumentError
from pipelines.markup.html_elements import ATTRIBUTE, translation_choice

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
        start, inside, after, end: offsets of the start tag, the content, the end tag, and the text
            after the element. For `<a/>`, the last three are equal.
        children: `Node`s, in order.
        translated: False in an element with `translate="no"`.
    """

    def __init__(self, name, start, inside, rest="", text="", translated=True):
        self.name, self.rest, self.own_text, self.children = name, rest, text, []
        choice = translation_choice(rest)
        self.translated = translated if choice is None else choice
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
        text = html.unescape(match["text"] or "") or match["data"]
        if match["close"]:
            element = stack.pop()
            element.after, element.end = match.span()
            continue
        name = None if text else (match["name"] or "").rpartition(":")[2]
        node = Node(name, *match.span(), match["rest"] or "", text or "", stack[-1].translated)
        stack[-1].children.append(node)
        if name and not node.rest.endswith("/"):
            stack.append(node)
    root = next(each for each in stack[0].elements if each.name)
    if names and root.name not in names:
        raise DocumentError(f"it is not {names[0].upper()}: it begins with <{root.name}>")
    return root
