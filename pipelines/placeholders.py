"""Placeholders, addresses and entities in a text: the strings that must survive a translation."""

import html
import re
import unicodedata

URL = (
    r"(?<![A-Za-z0-9.+-])(?:[A-Za-z][A-Za-z0-9+.-]{1,15}://|www\.|mailto:)"
    r"(?:\([^\s()<>\"&]{0,100}\)|[^\s()<>\"&]|&(?!(?:lt|gt|quot|apos|nbsp|\#\w{1,8});))*"
    r"(?:\([^\s()<>\"&]{0,100}\)|[\w/\#=%+~*}-])"
)
EMAIL = r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
BRACES = (
    r"\{\{[^{}]{0,200}\}\}|\{%[^{}]{0,200}%\}|[$%\#]\{[^{}]{0,200}\}"
    r"|\{\s*[\w.\[\]'\"-]*\s*(?:[!:,][^{}]{0,100})?\}"
)
PRINTF = (
    r"%(?:%|(?:\(\w+\)|[0-9]+\$)?[-+0\#]*(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*))?"
    r"(?:hh|h|ll|l|L|z|j|t)?[diouxXeEfFgGcrsaAp@])"
)
ONE = f"(?:{URL}|{EMAIL}|{BRACES}|{PRINTF})"
# Placeholders with only punctuation between them are one: "{a}/{b}", "%d%%".
PLACEHOLDERS = re.compile(f"{ONE}(?:[^\\w\\s<>&%{{}}$#]{{0,3}}{ONE})*")
ENTITY = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{0,31});?")
XML_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decoded_entity(entity, markup):
    """Returns the character of an entity, or None if it must stay as it is.

    Unknown entities, spaces, and invisible characters stay: a translation would lose them.
    """
    character = XML_ENTITIES.get(entity)
    if character is None and (markup == "html" or entity.startswith("&#")):
        character = html.unescape(entity)
    if character is None or character == entity or len(character) > 2:
        return None
    hidden = any(unicodedata.category(each)[0] in "CZ" for each in character)
    return None if hidden or NOT_XML.search(character) else character


def is_space(entity):
    """Returns whether an entity is a space, such as `&nbsp;`."""
    return html.unescape(entity).isspace()


def without_placeholders(text):
    """Removes the placeholders that a model has invented."""
    return PLACEHOLDERS.sub("", text) if PLACEHOLDERS.search(text) else text


def escaped(text, markup):
    """Returns text as it must be written in a kind of markup."""
    if markup == "placeholders":
        return text
    if markup == "xml":
        text = NOT_XML.sub("", text)
    return html.escape(text, quote=False)
