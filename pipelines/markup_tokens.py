"""HTML and XML as a sequence of tokens, which joined are the text again."""

import html
import re
from typing import NamedTuple

from pipelines.placeholders import ENTITY, PLACEHOLDERS, decoded_entity, is_space

COMMENT = r"<!--(?:-?>|.*?--!?>)"
DOCTYPE = (
    r"<![A-Za-z](?>(?:\"[^\"]*\"|'[^']*'|[^\"'\[>])*)"
    r"(?:\[(?>(?:\"[^\"]*\"|'[^']*'|<!--.*?-->|[^\"'\]])*)\]\s*)?>"
)
TAG = (
    r"<(?P<close>/?)(?P<name>[A-Za-z_][^\s/>]*)(?P<rest>(?>(?:=\s*\"[^\"]*\"|=\s*'[^']*'|[^>])*))>"
)
# Markup that the text ends in the middle of is kept whole.
UNFINISHED = r"<!--.*|<!\[CDATA\[.*|<\?.*|</?[A-Za-z_!][^>]*\Z"
OTHER = rf"{COMMENT}|<!\[CDATA\[.*?\]\]>|{DOCTYPE}|<\?.*?(?:\?>|\Z)"
MARKUP = re.compile(f"(?P<other>{OTHER})|{TAG}|(?P<unfinished>{UNFINISHED})", re.DOTALL)
UNTRANSLATED = {"script", "style", "pre", "code", "kbd", "samp", "textarea", "svg", "math"}
RAW = {"script", "style", "textarea"}  # only their own closing tag ends them
NO_TRANSLATION = re.compile(
    r"\stranslate\s*=\s*[\"']?no\b|\sclass\s*=\s*[\"'][^\"']*\bnotranslate\b", re.IGNORECASE
)
VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
BLOCKS = frozenset(
    re.split(
        r"\s+",
        """address article aside blockquote body br button caption center col colgroup dd details
        dialog dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head
        header hgroup hr html iframe legend li link main menu meta nav noscript ol optgroup option p
        pre script section select style summary table tbody td template textarea tfoot th thead
        title tr ul""",
    )
)


class Token(NamedTuple):
    """A part of a text.

    Args:
        kind: "text", "open", "close", "empty" (a tag or comment that encloses nothing), "divider",
            "placeholder", "space" (an entity), or "hidden" (an entity of an invisible character).
        raw: the part as it stands in the text.
        value: the decoded characters of text, or the name of a tag.
    """

    kind: str
    raw: str
    value: str = ""


def tokens_of(text, markup):
    """Yields the `Token`s of a text.

    Args:
        text: a string.
        markup: "html", "xml" or "placeholders".
    """
    if markup == "placeholders":
        yield from text_tokens(text, markup)
        return
    at = 0
    while match := MARKUP.search(text, at):
        yield from text_tokens(text[at : match.start()], markup)
        at = match.end()
        if match["name"] is None:
            yield other_token(match)
            continue
        name = match["name"].lower() if markup == "html" else match["name"]
        if untranslated(match, name):
            at = end_of_element(text, match, name)
            kind = "divider" if name in BLOCKS else "placeholder"
            yield Token(kind, text[match.start() : at], name)
        else:
            yield Token(kind_of_tag(match, name, markup), match[0], name)
    yield from text_tokens(text[at:], markup)


def other_token(match):
    comment = match["other"] and match[0].startswith("<!--")
    return Token("empty" if comment else "divider", match[0])


def kind_of_tag(match, name, markup):
    if name in BLOCKS and markup == "html":
        return "divider"
    if match["close"]:
        return "close"
    void = markup == "html" and name in VOID
    return "empty" if void or match["rest"].endswith("/") else "open"


def untranslated(match, name):
    if match["close"] or match["rest"].endswith("/") or name in VOID:
        return False
    return name in UNTRANSLATED or NO_TRANSLATION.search(match["rest"]) is not None


def end_of_element(text, match, name):
    """Returns the end of the element that a tag opens: of the text if no tag closes it."""
    tag = re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])[^>]*>", re.IGNORECASE)
    depth, at = 1, match.end()
    while depth and (found := tag.search(text, at)):
        if found[1]:
            depth -= 1
        elif name not in RAW and not found[0].endswith("/>"):
            depth += 1
        at = found.end()
    return len(text) if depth else at


def text_tokens(text, markup):
    """Yields the tokens of a text between two tags."""
    at = 0
    for match in PLACEHOLDERS.finditer(text):
        yield from plain_tokens(text[at : match.start()], markup)
        yield Token("placeholder", match[0])
        at = match.end()
    yield from plain_tokens(text[at:], markup)


def plain_tokens(text, markup):
    """Yields the tokens of a text without placeholders: its words and its entities."""
    if markup == "placeholders" or "&" not in text:
        if text:
            yield Token("text", text, text)
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
            yield Token("text", text[raw : match.start()], "".join(characters))
        kind = "space" if is_space(match[0]) else "placeholder"
        if kind == "placeholder" and is_hidden(match[0]):
            kind = "hidden"
        yield Token(kind, match[0])
        raw, characters = at, []
    if raw < len(text):
        yield Token("text", text[raw:], "".join([*characters, text[at:]]))


def is_hidden(entity):
    """Returns whether an entity is a character without a width, such as `&shy;`."""
    return html.unescape(entity) != entity
