"""Placeholders, addresses and entities in a text: the strings that a translation must keep."""

import html
import re
import unicodedata

from pipelines.text.normalization import spans_of

# Letters of languages that have no spaces or attach endings to Latin words. They end an address.
JOINED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff00-\uffef"
)
WIDE_MARKS = "\u3000-\u3003\u3008-\u3011\u3014-\u301f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
URL = (
    r"(?<![A-Za-z0-9.+-])(?:[A-Za-z][A-Za-z0-9+.-]{1,15}://|www\.|mailto:)"
    rf"(?:\([^\s()<>\"&{WIDE_MARKS}]{{0,100}}\)|[^\s()<>\"&{WIDE_MARKS}]"
    r"|&(?!(?:lt|gt|quot|apos|nbsp|\#\w{1,8});))*"
    rf"(?:\([^\s()<>\"&{WIDE_MARKS}]{{0,100}}\)|[\w/\#=%+~*}}-])"
)
# The last part of a domain begins with a letter: "3@5.20" is a price.
EMAIL = (
    rf"(?<!(?![{JOINED}])[\w.+-])(?:(?![{JOINED}])[\w.+-])+@(?:(?![{JOINED}])[\w-])+"
    rf"(?:\.(?:(?![{JOINED}])[\w-])+)*\.(?![{JOINED}\d_-])\w(?:(?![{JOINED}])[\w-])*"
)
BRACES = (
    r"\{\{[^{}]{0,200}\}\}|\{%[^{}]{0,200}%\}|[$%\#]\{[^{}]{0,200}\}"
    r"|\{\s*+[\w.\[\]'\"-]*+\s*+(?:[!:,][^{}]{0,100})?\}"
)
# printf formats. A percent sign after a digit means percent: "100%ige", "50%-discount", "10%p",
# "50%s". A percent sign before Latin letters also means percent, as in "%age" and "50 %igen",
# unless the letters are a unit ("%dpx") or the format has digits that words never have ("%.2fx"). A
# minus without a width is a hyphen: "%-os". These are not formats either: "%50a" and "%20e" in
# Basque and Turkish, and "%2F" in URLs. "%%", "%(name)s" and "%1$s" are placeholders anywhere.
LATIN = "A-Za-z\u00c0-\u024f"
SIGNS = r"[+0\#]*(?:-[+0\#]*(?=[1-9*]))?"
SIZE = rf"{SIGNS}(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*))?(?:hh?|ll?|[Lzjt])?"
CONVERSION = "[diouxXeEfFgGcrsaAp@]"
UNIT = "(?:[b-df-hj-np-tv-z]|ms|px|pt|em|st|nd|rd|th|min|sec|km|cm|mm|kg)"
PRINTF = (
    rf"%(?:%|(?:\(\w+\)|[0-9]+\$){SIZE}{CONVERSION})"
    rf"|(?<!\d)%(?:(?=[-+0\#]*(?:\*|[0-9]*\.[0-9*])|[-+\#]*0[1-9]){SIZE}{CONVERSION}"
    rf"|{SIZE}[ds@](?![{LATIN}])"
    rf"|(?<!\d\s%)(?<!\d&nbsp;%)(?:{SIZE}[ds](?=[A-Z]|{UNIT}(?![{LATIN}]))"
    rf"|(?![0-9]+[aeioAEFG]){SIZE}{CONVERSION}(?![0-9{LATIN}])))"
)
ONE = f"(?:{URL}|{EMAIL}|{BRACES}|{PRINTF})"
# Placeholders with only punctuation between them count as one: "{a}/{b}", "%d%%".
PLACEHOLDERS = re.compile(f"{ONE}(?:[^\\w\\s<>&%{{}}$#]{{0,3}}{ONE})*")
ENTITY = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{0,31});?")
XML_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decoded_entity(entity, markup):
    """Returns the character of an entity, or None if it must stay as it is.

    Unknown entities, spaces, and invisible characters stay, because a translation would lose them.
    """
    character = XML_ENTITIES.get(entity)
    if character is None and (markup == "html" or entity.startswith("&#")):
        character = html.unescape(entity)
    if character is None or character == entity or len(character) > 2:
        return None
    hidden = any(unicodedata.category(each)[0] in "CZ" for each in character)
    return None if hidden or NOT_XML.search(character) else character


def without_placeholders(text, source="", required=()):
    """Removes from a translation the placeholders that the model has invented.

    Args:
        text: the translation.
        source: the model's input, from which the placeholders were removed. A string in the input
            that looks like a placeholder, such as a decoded `me&#64;example.org` or "{the dog, a
            cat}", is ordinary text.
        required: phrases that the translation must contain, including its prefix.
    """
    if not PLACEHOLDERS.search(text):
        return text
    kept, covered = {*required, *PLACEHOLDERS.findall(source)}, bytearray(len(text))
    for phrase in kept | ({"{"} if "{" in source else set()):
        for start, end in spans_of(phrase, text):
            covered[start:end] = bytes([1]) * (end - start)

    def kept_or_removed(match):
        return match[0] if 1 in covered[slice(*match.span())] else ""

    return PLACEHOLDERS.sub(kept_or_removed, text)


def escaped(text, markup):
    """Escapes the characters of a text that are special in the markup."""
    if markup == "placeholders":
        return text
    if markup == "xml":
        text = NOT_XML.sub("", text)
    return html.escape(text, quote=False)
