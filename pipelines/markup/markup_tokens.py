"""Splits HTML and XML into tokens. Joining the tokens restores the text."""

import html
import re
from typing import NamedTuple

from pipelines.markup.html_elements import BLOCKS, RAW, VOID, OpenElements
from pipelines.markup.placeholders import ENTITY, PLACEHOLDERS, decoded_entity

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


class MarkupTokenizer:
    """Divides a text, or the lines of a document, into `MarkupToken`s.

    Args:
        markup: "html", "xml" or "placeholders".
        pattern: `IN_TEXT`, or `IN_LINE` for a document's lines.
    """

    def __init__(self, markup, pattern=IN_LINE):
        self.markup, self.pattern = markup, pattern
        self.elements = OpenElements(markup)
        self.begun = ""  # unfinished markup of earlier lines

    def tokens(self, text):
        """Returns the tokens of the text or of the next line."""
        if self.markup == "placeholders":
            return [*text_tokens(text, self.markup)]
        begun, self.begun = self.begun, ""
        if begun and not self.pattern.match(begun + text):
            begun = ""  # the markup can no longer end, so the line is ordinary text
        self.text, self.first, self.at, self.written = begun + text, len(begun), 0, []
        # The current untranslated stretch: its start, the number of elements around it, and whether
        # it contains a block.
        self.start, self.around, self.has_block = None, 0, False
        if not self.elements.translated:
            self.start, self.has_block = 0, True
        while match := self.next_match():
            if self.start is None:
                self.add_text(self.text[self.at : match.start()])
            self.at = match.end()
            if match["name"] is None:
                self.other(match)
            else:
                self.tag(match)
        if self.start is not None:
            self.end_stretch(len(self.text), False)
        else:
            self.add_text(self.text[self.at :])
        return self.written

    def next_match(self):
        at = self.at
        if self.elements.innermost in RAW and not self.elements.translated:
            end = re.compile(rf"</{self.elements.innermost}(?=[\s/>]|\Z)", re.IGNORECASE)
            found = end.search(self.text, at)
            if found is None:
                return None
            at = found.start()
        return self.pattern.search(self.text, at)

    def add_text(self, text):
        at, kind = 0, "divider" if self.elements.keeps_lines else "space"
        for match in LINE_BREAK.finditer(text):
            self.written += text_tokens(text[at : match.start()], self.markup)
            self.written.append(MarkupToken(kind, match[0]))
            at = match.end()
        self.written += text_tokens(text[at:], self.markup)

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
            # The time for a long comment stays linear in its length.
            beginning = re.match(r"<!--|<!\[CDATA\[|<\?(?:xml:)?|", match[0])[0]
            self.begun = f"{beginning or match[0]}\n"
        if self.start is None:
            comment = is_finished and match[0].startswith("<!--")
            self.add("empty" if comment else "divider", *match.span())

    def tag(self, match):
        is_html, elements, rest = self.markup == "html", self.elements, match["rest"]
        name = match["name"].lower() if is_html else match["name"]
        # A tag such as `<br>` or `<a/>` encloses nothing.
        is_empty = (is_html and name in VOID) or (
            rest.endswith("/") and not UNQUOTED_END.search(rest)
        )
        kind = "close" if match["close"] else "empty" if is_empty else "open"
        kind = "divider" if is_html and name in BLOCKS else kind
        closed, around, is_block = None, 0, True
        if match["close"]:
            closed = elements.close(name)
        else:
            elements.end_before(name)
            if self.start is not None and elements.translated:
                self.end_stretch(match.start(), False)
            around, is_block = len(elements), name in BLOCKS
            if not is_empty:
                elements.open(name, rest)
            self.has_block |= self.start is not None and is_block
        if self.start is None and elements.translated:
            self.add(kind, *match.span(), name)
        elif self.start is None:  # a block if it is the end of translate="yes" inside "no"
            self.start, self.around, self.has_block = match.start(), around, is_block
        elif elements.translated and not match["close"]:  # translate="yes" inside "no"
            self.end_stretch(match.end(), False)
        elif elements.translated and closed is not None and not closed.translated:
            self.end_stretch(match.end(), len(elements) == self.around)
        elif elements.translated:
            self.end_stretch(match.start(), False)
            self.add(kind, *match.span(), name)

    def end_stretch(self, end, is_whole):
        """Adds the untranslated stretch. Whole elements may be moved within a sentence."""
        self.add("placeholder" if is_whole and not self.has_block else "divider", self.start, end)
        self.start = None


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
    at, raw, characters = 0, 0, []  # raw: start of the text token
    for match in ENTITY.finditer(text):
        is_ended, character = match[0].endswith(";"), decoded_entity(match[0], markup)
        if not is_ended and (markup == "xml" or character is None):
            continue  # a bare ampersand
        characters.append(text[at : match.start()])
        at = match.end()
        if character is not None:
            characters.append(character)
            continue
        if match.start() > raw:
            yield MarkupToken("text", text[raw : match.start()], "".join(characters))
        yield MarkupToken(kind_of(match[0]), match[0])
        raw, characters = at, []
    if raw < len(text):
        yield MarkupToken("text", text[raw:], "".join([*characters, text[at:]]))


def kind_of(entity):
    """Returns the kind of token of an entity that stays: `&nbsp;`, `&shy;`, `&unknown;`."""
    character = html.unescape(entity)
    return "space" if character.isspace() else "placeholder" if character == entity else "hidden"
