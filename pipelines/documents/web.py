"""HTML: text as the markup engine divides it, and attributes that a person reads."""

import html
import re

from pipelines.documents.document import Template, Unit, decoded, has_letters
from pipelines.markup.html_elements import ATTRIBUTE
from pipelines.markup.marked_text import divided
from pipelines.markup.markup_tokens import IN_TEXT, MarkupTokenizer

SHOWN = {"alt", "title", "placeholder", "aria-label", "aria-description", "summary"}
DESCRIPTIONS = {"description", "og:title", "og:description", "twitter:title", "twitter:description"}
TAG = re.compile(r"<[A-Za-z](?:\"[^\"]*\"|'[^']*'|[^>\"'])*>")


def read_html(data, options):
    text, encode = decoded(data)
    tokens = MarkupTokenizer("html", IN_TEXT).tokens(text)
    template, attributes, at = Template(text), [], 0
    for token in tokens:
        if token.raw.startswith("<") and TAG.fullmatch(token.raw):
            attributes += attributes_of(token.raw, at)
        at += len(token.raw)
    at = 0
    for piece in divided(tokens, ("divider",)):
        raw = piece if isinstance(piece, str) else piece.raw
        own = [each for each in attributes if at <= each[0] < at + len(raw)]
        if isinstance(piece, str):
            for start, end, value in own:
                template.add(start, end, [Unit(value)], lambda found: html.escape(*found))
        elif has_letters(piece.text):
            add_segment(template, at, raw, own)
        at += len(raw)
    return template, encode


def attributes_of(tag, at):
    """Yields start, end and value of the attributes of a tag that are translated."""
    found = {match[1].lower(): match for match in ATTRIBUTE.finditer(tag, tag.find(" "))}
    values = {name: html.unescape(match[2] or match[3] or "") for name, match in found.items()}
    shown = set(SHOWN)
    if tag.lower().startswith("<meta"):
        is_shown = DESCRIPTIONS & {
            values.get("name", "").lower(),
            values.get("property", "").lower(),
        }
        shown = {"content"} if is_shown else set()
    elif values.get("type", "").lower() in ("submit", "button", "reset"):
        shown.add("value")
    for name in sorted(shown & {*found}, key=lambda name: found[name].start()):
        if has_letters(values[name]):
            start, end = found[name].span(2 if found[name][2] is not None else 3)
            yield at + start, at + end, values[name]


def add_segment(template, at, raw, attributes):
    """Adds the place of a segment, whose tags may contain attributes to translate."""
    text = raw.strip()
    start = at + raw.index(text)
    source = re.sub(r"\s*\n\s*", " ", text)

    def written(translations):
        translation, *values = translations
        edited = Template(text)
        for (first, end, _), value in zip(attributes, values, strict=True):
            edited.add(first - start, end - start, [Unit("")], lambda _, v=value: html.escape(v))
        for tag in TAG.finditer(text):
            inside = Template(text, *tag.span())
            inside.places = [p for p in edited.places if tag.start() <= p.start < tag.end()]
            if inside.places:
                translation = translation.replace(
                    tag[0], inside.write(["-"] * len(inside.places)), 1
                )
        return translation

    units = [Unit(source, "html"), *(Unit(value) for _, _, value in attributes)]
    template.add(start, start + len(text), units, written)
