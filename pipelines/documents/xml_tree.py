"""XML as a tree of elements with their places in the file, for edits that keep all other bytes."""

import html
import re
from xml.parsers import expat

from pipelines.documents.document import DocumentError, decoded
from pipelines.markup.placeholders import NOT_XML

DEEPEST = 500  # maximum number of nested elements
TAG = re.compile(rb"<(?:\"[^\"]*\"|'[^']*'|[^>\"'])*>")
ENCODING = re.compile(rb"^<\?xml[^>]*\sencoding\s*=\s*[\"']([\w.-]+)[\"']")


class Element:
    """An element of an XML file, or a comment or instruction, whose name is "".

    Attributes:
        name: the name without the prefix of its namespace.
        attributes: {name without prefix: value}.
        start, inside, after, end: offsets in bytes of the start tag, the content, the end tag, and
            of what follows the element. For `<a/>`, the last three are equal.
        children: `Element`s and `Text`s, in order.
    """

    def __init__(self, name, attributes, start, inside=0):
        self.name, self.attributes, self.children = name, attributes, []
        self.start, self.inside, self.after, self.end = start, inside, inside, inside

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
    """A stretch of text, decoded, and the offsets in bytes of its start and end."""

    def __init__(self, text, start):
        self.text, self.start, self.end = text, start, start


def parsed(data):
    """Parses an XML file.

    Documents that declare entities are refused: a small file could expand to a huge text, and an
    entity may name another file.

    Returns:
        The root `Element`, the file in UTF-8, and the function that encodes such bytes as the file.
    """
    source, encode = in_utf8(data)
    top = Element("", {}, 0)
    stack = [top]
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = False

    def add(child):
        siblings = stack[-1].children
        if siblings and isinstance(siblings[-1], Text):
            siblings[-1].end = child.start
        siblings.append(child)

    def start(name, attributes):
        if len(stack) > DEEPEST:
            raise DocumentError(f"its elements are nested more than {DEEPEST} deep")
        at = parser.CurrentByteIndex
        own = {local(key): value for key, value in attributes.items()}
        add(Element(local(name), own, at, TAG.match(source, at).end()))
        stack.append(stack[-1].children[-1])

    def end(name):
        element, at = stack.pop(), parser.CurrentByteIndex
        if not source.endswith(b"/>", element.start, element.inside):
            element.after, element.end = at, source.index(b">", at) + 1
        if element.children and isinstance(element.children[-1], Text):
            element.children[-1].end = element.after

    def characters(text):
        siblings = stack[-1].children
        if not siblings or not isinstance(siblings[-1], Text):
            siblings.append(Text("", parser.CurrentByteIndex))
        siblings[-1].text += text

    def comment(*contents):
        at = parser.CurrentByteIndex
        closing = b"-->" if source.startswith(b"<!--", at) else b"?>"
        add(Element("", {}, at, source.index(closing, at) + len(closing)))

    def refused(*declared):
        raise DocumentError("it declares XML entities, which may be unsafe. Remove its DOCTYPE")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartCdataSectionHandler = (
        characters,
        lambda: characters(""),
    )
    parser.CommentHandler = parser.ProcessingInstructionHandler = comment
    parser.EntityDeclHandler = parser.SkippedEntityHandler = refused
    try:
        parser.Parse(source, True)
    except expat.ExpatError as error:
        raise DocumentError(f"it is not well-formed XML: {error}") from None
    return next(each for each in top.elements if each.name), source, encode


def local(name):
    return name.rpartition(":")[2]


def in_utf8(data):
    """Returns an XML file in UTF-8, and the function that encodes such bytes as the file was."""
    declared = ENCODING.match(data)
    name = declared[1].decode() if declared else "utf-8"
    if name.lower() in ("utf-8", "utf8", "utf-16", "utf16"):
        text, encode = decoded(data)
        return text.encode(), lambda source: encode(source.decode())
    try:
        source = data.decode(name).encode()
    except (LookupError, UnicodeError):
        raise DocumentError(f"it is not encoded in {name}, as it declares") from None
    return source, lambda edited: edited.decode().encode(name, "xmlcharrefreplace")


def escaped(text):
    """Returns a string as the bytes of XML text."""
    return html.escape(NOT_XML.sub("", text), quote=False).encode()
