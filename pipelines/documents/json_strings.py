"""JSON files of strings: plain, i18next, and ARB. Keys, order, numbers and layout stay."""

import json
import re

from pipelines.documents.document import DocumentError, has_letters, held, kind_of

TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]')
MESSAGE = re.compile(r"\{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal)\s*,")
FORM = re.compile(r"\s*(?:offset:\d+\s*)?(?:=\d+|[\w:]+)\s*\{")
NO_TEXT = re.compile(r"\S+[/_.@#]\S*|[A-Z0-9_]+|\S*\d\S*")  # paths, addresses, identifiers
REFERENCE = r"\$t\([^()]*\)"  # a reference of i18next to a different text
NUMBER = "#"  # the number in a form of an ICU plural


def read_json(document, options):
    json.dumps(json.loads(document.text), ensure_ascii=False).encode()  # no lone surrogates
    keys = [""]  # the last key of each open object; a key of ARB such as "@title" has facts
    for match in TOKEN.finditer(document.text):
        if match[2]:
            keys[-1] = match[1]
        elif match[0] in "{[":
            keys.append("")
        elif match[0] in "}]":
            keys.pop()
        elif not any(key.startswith("@") for key in keys):
            value = json.loads(f'"{match[1]}"')
            if has_letters(value) and not NO_TEXT.fullmatch(value):
                add_message(document, *match.span(1), REFERENCE)
            else:
                document.skipped["without words"] += 1


def add_message(document, start, end, kept):
    """Adds the units of a message; each form of an ICU plural or select is one."""
    text = document.text
    while found := MESSAGE.search(text, start, end):
        add_unit(document, start, found.start(), kept)
        at = found.end()
        while form := FORM.match(text, at, end):
            at = closing(text, form.end() - 1, end)
            add_message(document, form.end(), at - 1, NUMBER)
        start = closing(text, found.start(), end)
    add_unit(document, start, end, kept)


def add_unit(document, start, end, kept):
    """Adds a stretch of a message, in which placeholders stand for what is kept."""
    raw = document.text[start:end]
    text, restored = held(json.loads(f'"{raw}"'), kept)

    def written(translation):
        new = json.dumps(restored(translation), ensure_ascii="\\u" in raw and raw.isascii())[1:-1]
        return new.replace("</", "<\\/") if "<\\/" in raw else new

    document.add_text(start, end, text, written, kind_of(text))


def closing(text, at, end):
    """Returns the offset after the brace that closes the one at `at`."""
    depth = 0
    for index in range(at, end):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return index + 1
    raise DocumentError(f"a message has an open brace: {text[at:end][:60]!r}")
