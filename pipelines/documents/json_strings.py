"""JSON files of strings: plain, i18next, and ARB. Keys, order, numbers and layout stay."""

import json
import re

from pipelines.documents.document import (
    DocumentError,
    Template,
    decoded,
    has_letters,
    held,
    unit_of,
)

TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}\[\],]')
MESSAGE = re.compile(r"\{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal)\s*,")
FORM = re.compile(r"\s*(?:offset:\d+\s*)?(?:=\d+|[\w:]+)\s*\{")
NO_TEXT = re.compile(r"\S+[/_.@#]\S*|[A-Z0-9_]+|\S*\d\S*")  # paths, addresses, identifiers
KEPT = re.compile(r"\$t\([^()]*\)")  # a reference of i18next to a different text
KEPT_IN_FORM = re.compile(r"#")  # the number in a form of an ICU plural


def read_json(data, options):
    text, encode = decoded(data)
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"it is not JSON: {error}") from None
    template, ignored = Template(text), []  # depth of each "@key" of ARB, whose object stays
    key, depth = "", 0
    for match in TOKEN.finditer(text):
        if match[2]:
            key = json.loads(match[1])
        elif match[1]:
            if not (ignored or key.startswith("@")):
                add_string(template, match, json.loads(match[1]))
        elif match[0] in "{[":
            depth += 1
            if key.startswith("@") and depth > 1:
                ignored.append(depth)
            key = ""
        elif match[0] in "}]":
            if ignored and ignored[-1] == depth:
                ignored.pop()
            depth -= 1
            key = ""
    return template, encode


def add_string(template, match, value):
    inner = Template(value)
    if not has_letters(value) or NO_TEXT.fullmatch(value):
        template.skip("without words")
        return
    add_message(inner, 0, len(value))

    def written(translations):
        text = json.dumps(inner.write(translations), ensure_ascii=not_ascii(match[1]))
        return text.replace("</", "<\\/") if "<\\/" in match[1] else text

    template.add(*match.span(1), inner.units, written)


def not_ascii(raw):
    """Returns whether a string is written with escapes only, as some programs require."""
    return raw.isascii() and "\\u" in raw


def add_message(inner, start, end, kept=KEPT):
    """Adds the units of a message; each form of an ICU plural or select is one."""
    found = MESSAGE.search(inner.text, start, end)
    if found is None:
        add_unit(inner, start, end, kept)
        return
    add_unit(inner, start, found.start(), kept)
    at = found.end()
    while form := FORM.match(inner.text, at):
        close = closing(inner.text, form.end() - 1)
        add_message(inner, form.end(), close, KEPT_IN_FORM)
        at = close + 1
    add_message(inner, closing(inner.text, found.start()) + 1, end, kept)


def add_unit(inner, start, end, kept):
    """Adds a stretch of a message, in which placeholders stand for what is kept."""
    text = inner.text[start:end]
    if has_letters(text):
        text, restored = held(text, kept)
        inner.add(start, end, [unit_of(text)], lambda translations: restored(*translations))


def closing(text, at):
    """Returns the offset of the brace that closes the one at `at`."""
    depth = 0
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return index
    raise DocumentError(f"a message has an open brace: {text[:60]!r}")
