"""Splits HTML and XML into tokens. Joining the tokens restores the text."""

import html
import re
from typing import NamedTuple

from pipelines.markup.html_elements import BLOCKS, RAW, VOID, OpenElements, translation_choice
from pipelines.markup.placeholders import ENTITY, PLACEHOLDERS, decoded_entity, is_space

COMMENT = r"<!--(?:-?>|.*?--!?>)"
DECLARATION = r"<![A-Za-z](?>(?:\"[^\"]*\"|'[^']*'|[^\"'\[>])*)"
DOCTYPE = rf"{DECLARATION}(?:\[(?>(?:\"[^\"]*\"|'[^']*'|<!--.*?-->|[^\"'\]])*)\]\s*)?>"
# Microsoft Word writes "<![if !mso]>" and "<?xml:namespace prefix=o />", which end like tags.
WORD = r"<!\[(?!CDATA\[)[^>]*>|<\?xml:[^>]*>"
OTHER = rf"{COMMENT}|<!\[CDATA\[.*?\]\]>|{DOCTYPE}|{WORD}|<\?.*?\?>"
NAME = r"[A-Za-z_][^\s/>]*+"
ATTRIBUTES = r"(?>(?:=\s*\"[^\"]*\"|=\s*'[^']*'|[^>])*)"
TAG = rf"<(?P<close>/?)(?P<name>{NAME})(?P<rest>{ATTRIBUTES})>"
# Markup that is cut off by the end of the text is one token.
UNFINISHED = (
    rf"<!--.*|<!\[CDATA\[.*|<\?.*|{DECLARATION}\[[^\]]*\Z|</?{NAME}{ATTRIBUTES}\Z|<![^>]*\Z"
)
# If a tag continues on the next line, its open quote may contain ">".
OPEN_QUOTE = (
    rf"<{NAME}(?>(?:=\s*\"[^\"]*\"|=\s*'[^']*'|(?!=\s*[\"'])[^>])*)=\s*(?:\"[^\"]*|'[^']*)\Z"
)
IN_TEXT = re.compile(f"(?P<other>{OTHER})|{TAG}|(?P<unfinished>{UNFINISHED})", re.DOTALL)
IN_LINE = re.compile(f"(?!{OPEN_QUOTE})(?:{IN_TEXT.pattern})|(?P<quote>{OPEN_QUOTE})", re.DOTALL)
VALUE = re.compile(r"(=\s*)(\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))")
LONGEST_VALUE = 300  # characters to keep of an attribute; enough for `class` and `translate`
LONGEST_TAG = 2000  # characters to keep of a tag that spans lines
# White space with a line break. It divides text in <pre> and, in HTML, outside of all blocks, where
# a stray tag such as `List<String>` must not join the lines that follow.
LINE_BREAK = re.compile(r"(?<![ \t\f\r])[ \t\f\r]*+\n[ \t\f\r\n]*+")
UNQUOTED_END = re.compile(r"=\s*[^\s\"'=]+\Z")  # <a href=http://a.example/>: slash of the URL


class MarkupToken(NamedTuple):
    """A part of a text.

    Args:
        kind: "text", "open", "close", "empty" (a tag or comment that encloses nothing), "divider",
            "placeholder", "space" (an entity, or a line break inside an element), or "hidden" (an
            entity of an invisible character).
        raw: the part as written in the text.
        value: the decoded characters of text, or the name of a tag.
    """

    kind: str
    raw: str
    value: str = ""


def tokens_of(text, markup):
    """Returns the `MarkupToken`s of a text.

    Args:
        text: a string.
        markup: "html", "xml" or "placeholders".
    """
    return MarkupTokenizer(markup, IN_TEXT).tokens(text)


class MarkupTokenizer:
    """Divides a text, or the lines of a document, into `MarkupToken`s.

    Args:
        markup: "html", "xml" or "placeholders".
        pattern: `IN_TEXT`, or `IN_LINE` for a document's lines.
    """

    def __init__(self, markup, pattern=None):
        self.markup, self.pattern = markup, pattern or IN_LINE
        self.elements = OpenElements(markup)
        self.begun = ""  # unfinished markup of earlier lines, shortened

    def tokens(self, text):
        """Returns the tokens of the text or of the next line."""
        if self.markup == "placeholders":
            return [*text_tokens(text, self.markup)]
        begun, self.begun = self.begun, ""
        if begun and not self.pattern.match(begun + text):
            begun = ""  # the markup can no longer end, so the line is ordinary text
        scan = Scan(self, begun, text)
        while match := scan.next_match():
            scan.text_before(match)
            if match["name"] is None:
                scan.other(match)
            elif match["close"]:
                scan.end_tag(match)
            else:
                scan.tag(match)
        return scan.finished()

    def name_of(self, match):
        return match["name"].lower() if self.markup == "html" else match["name"]


class Scan:
    """Collects the tokens of one text.

    Args:
        tokenizer: the `MarkupTokenizer`. Its open elements are updated.
        begun: markup that began before the text.
        text: a string.
    """

    def __init__(self, tokenizer, begun, text):
        self.tokenizer, self.elements = tokenizer, tokenizer.elements
        self.text, self.first, self.at = begun + text, len(begun), 0
        self.written = []
        # The current untranslated stretch: its start, the number of elements around it, and whether
        # it contains a block.
        self.start, self.around, self.has_block = None, 0, False
        if not self.elements.translated:
            self.start, self.has_block = 0, True

    def next_match(self):
        at = self.at
        if self.elements.innermost in RAW and not self.elements.translated:
            end = re.compile(rf"</{self.elements.innermost}(?=[\s/>]|\Z)", re.IGNORECASE)
            found = end.search(self.text, at)
            if found is None:
                return None
            at = found.start()
        return self.tokenizer.pattern.search(self.text, at)

    def text_before(self, match):
        if self.start is None:
            self.add_text(self.text[self.at : match.start()])
        self.at = match.end()

    def add_text(self, text):
        at, kind = 0, "divider" if self.elements.keeps_lines else "space"
        for match in LINE_BREAK.finditer(text):
            self.written += text_tokens(text[at : match.start()], self.tokenizer.markup)
            self.written.append(MarkupToken(kind, match[0]))
            at = match.end()
        self.written += text_tokens(text[at:], self.tokenizer.markup)

    def add(self, kind, start, end, name=""):
        """Adds the token of a stretch, without the characters that earlier lines contain."""
        if start < self.first:
            kind, start = "divider", self.first
        if start < end:
            self.written.append(MarkupToken(kind, self.text[start:end], name))

    def other(self, match):
        """Adds a comment, a declaration, or unfinished markup."""
        is_finished = match["other"] is not None
        if not is_finished:
            self.tokenizer.begun = shortened(match[0])
        if self.start is None:
            comment = is_finished and match[0].startswith("<!--")
            self.add("empty" if comment else "divider", *match.span())

    def end_tag(self, match):
        name = self.tokenizer.name_of(match)
        closed, kind = self.elements.close(name), self.kind(match, name)
        if self.start is None and self.elements.translated:
            self.add(kind, *match.span(), name)
        elif self.start is None:  # the end of translate="yes" inside translate="no"
            self.start, self.has_block = match.start(), True
        elif self.elements.translated and closed is not None and not closed.translated:
            self.end_stretch(match.end(), len(self.elements) == self.around)
        elif self.elements.translated:
            self.end_stretch(match.start(), False)
            self.add(kind, *match.span(), name)

    def tag(self, match):
        name = self.tokenizer.name_of(match)
        kind = self.kind(match, name)
        self.elements.end_before(name)
        if self.start is not None and self.elements.translated:
            self.end_stretch(match.start(), False)
        around = len(self.elements)
        if not self.is_empty(match, name):
            self.elements.open(name, match["rest"])
        self.has_block |= self.start is not None and name in BLOCKS
        if self.start is None and self.elements.translated:
            self.add(kind, *match.span(), name)
        elif self.start is None:
            self.start, self.around, self.has_block = match.start(), around, name in BLOCKS
        elif self.elements.translated:  # translate="yes" inside translate="no"
            self.end_stretch(match.end(), False)

    def kind(self, match, name):
        """Returns the kind of a tag's token."""
        if name in BLOCKS and self.tokenizer.markup == "html":
            return "divider"
        if match["close"]:
            return "close"
        return "empty" if self.is_empty(match, name) else "open"

    def is_empty(self, match, name):
        """Returns whether a tag encloses nothing, such as `<br>` or `<a/>`."""
        void = self.tokenizer.markup == "html" and name in VOID
        rest = match["rest"]
        return void or (rest.endswith("/") and not UNQUOTED_END.search(rest))

    def end_stretch(self, end, is_whole):
        """Adds the untranslated stretch. Whole elements may be moved within a sentence."""
        self.add("placeholder" if is_whole and not self.has_block else "divider", self.start, end)
        self.start = None

    def finished(self):
        if self.start is not None:
            self.end_stretch(len(self.text), False)
        else:
            self.add_text(self.text[self.at :])
        return self.written


def shortened(begun):
    """Returns unfinished markup and a line break, shortened to what the next line needs.

    This keeps the time for a long comment, or for an image inside an attribute, linear in its
    length.
    """
    for beginning in ("<!--", "<![CDATA[", "<?xml:", "<?"):
        if begun.startswith(beginning):
            return beginning + "\n"
    begun = VALUE.sub(lambda match: match[1] + short_value(match[2]), begun)
    if len(begun) > LONGEST_TAG:
        name = re.match("<[!/]?[^\\s/>]*", begun)[0]
        if name.startswith("<!"):
            return f"{name} [\n" if "[" in begun else f"{name}\n"
        *_, last = ["", *VALUE.finditer(begun)]
        choice = ' translate="no"' if translation_choice(begun[len(name) :]) is False else ""
        begun = name + choice + (" x" + last[0] if last and is_open(last[2]) else "")
    return begun + "\n"


def short_value(value):
    """Shortens a quoted value, whose closing quote may be missing."""
    if len(value) <= LONGEST_VALUE:
        return value
    return value[:LONGEST_VALUE] + ("" if is_open(value) else value[0])


def is_open(value):
    """Returns whether the closing quote of a value is missing."""
    return len(value) == 1 or value[-1] != value[0]


def text_tokens(text, markup):
    """Yields the tokens of a text between two tags."""
    at = 0
    for match in PLACEHOLDERS.finditer(text):
        yield from plain_tokens(text[at : match.start()], markup)
        yield MarkupToken("placeholder", match[0])
        at = match.end()
    yield from plain_tokens(text[at:], markup)


def plain_tokens(text, markup):
    """Yields the tokens of a text without placeholders: stretches of text, and entities."""
    if markup == "placeholders" or "&" not in text:
        if text:
            yield MarkupToken("text", text, text)
        return
    at, characters = 0, []
    raw = 0  # start of the text token
    for match in ENTITY.finditer(text):
        if markup == "xml" and not match[0].endswith(";"):
            continue
        character = decoded_entity(match[0], markup)
        if character is None and not match[0].endswith(";"):
            continue  # a bare ampersand
        characters.append(text[at : match.start()])
        at = match.end()
        if character is not None:
            characters.append(character)
            continue
        if match.start() > raw:
            yield MarkupToken("text", text[raw : match.start()], "".join(characters))
        kind = "space" if is_space(match[0]) else "placeholder"
        if kind == "placeholder" and is_hidden(match[0]):
            kind = "hidden"
        yield MarkupToken(kind, match[0])
        raw, characters = at, []
    if raw < len(text):
        yield MarkupToken("text", text[raw:], "".join([*characters, text[at:]]))


def is_hidden(entity):
    """Returns whether an entity is a character without a width, such as `&shy;`."""
    return html.unescape(entity) != entity
