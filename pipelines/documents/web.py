"""HTML: text as the markup engine divides it, and attributes that a person reads. EPUB."""

import html
import re

from pipelines.documents.document import TAG, DocumentError, escaped, has_letters
from pipelines.documents.xml_tree import root_of
from pipelines.markup.html_elements import ATTRIBUTE
from pipelines.markup.marked_text import divided
from pipelines.markup.markup_tokens import IN_TEXT, MarkupTokenizer

SHOWN = {"alt", "title", "placeholder", "aria-label", "aria-description", "summary"}
DESCRIPTIONS = {"description", "og:title", "og:description", "twitter:title", "twitter:description"}
LANGUAGES = {"lang", "xml:lang"}
METADATA = {".opf": ("title", "description", "subject"), ".ncx": ("text",)}  # of EPUB
BREAK = re.compile(rf"{TAG.pattern}|(?:(?<!\s)\s+)?\n\s*")


def read_html(document, options):
    tokens, at = MarkupTokenizer("html", IN_TEXT).tokens(document.text), 0
    for token in tokens:
        if "=" in token.raw and TAG.fullmatch(token.raw):
            add_attributes(document, token.raw, at, options.target)
        at += len(token.raw)
    at = 0
    for piece in divided(tokens, ("divider",)):
        if not isinstance(piece, str) and has_letters(piece.text):
            add_segment(document, at, piece.raw)
        at += len(piece if isinstance(piece, str) else piece.raw)


def add_attributes(document, tag, at, language):
    """Adds the places of the attributes of a tag that are translated, and of a page's language."""
    found = {match[1].lower(): match for match in ATTRIBUTE.finditer(tag, 1)}
    values = {name: html.unescape("".join(match.groups("")[1:])) for name, match in found.items()}
    shown = set(SHOWN)
    if tag.lower().startswith("<html") and language:
        shown = LANGUAGES
    elif tag.lower().startswith("<meta"):
        kinds = {values.get("name", "").lower(), values.get("property", "").lower()}
        shown = {"content"} if DESCRIPTIONS & kinds else set()
    elif values.get("type", "").lower() in ("submit", "button", "reset"):
        shown.add("value")
    for name in shown & {name for name in values if values[name]}:
        start, end = (at + offset for offset in found[name].span(found[name].lastindex))
        if name in LANGUAGES:
            document.replace(start, end, language)
        elif found[name].lastindex == 4:  # without quotes, which it gets
            document.add_text(start, end, values[name], lambda new: f'"{html.escape(new)}"')
        else:
            document.add_text(start, end, values[name], html.escape)


def add_segment(document, at, raw):
    """Adds the place of a segment, whose tags may contain attributes to translate."""
    text = raw.strip()
    start = at + raw.index(text)

    def written(translation):
        for tag in TAG.finditer(text) if "=" in text else ():
            new = document.between(start + tag.start(), start + tag.end())
            translation = translation.replace(tag[0], new, 1)
        return translation

    source = BREAK.sub(lambda match: match[0] if match[0][0] == "<" else " ", text)
    document.add_text(start, start + len(text), source, written, "html")


def read_epub(book, options):
    """Reads the chapters and their table of contents, and the title and description of a book."""
    for name in book.parts:
        suffix = name[name.rfind(".") :].lower()
        if suffix in (".xhtml", ".html", ".htm"):
            read_html(book.opened(name), options)
        elif suffix in METADATA:
            part = book.opened(name)
            root = root_of(part)
            for element in root.find("language") if options.target else ():
                part.replace(element.inside, element.after, options.target)
            for element in root.find(*METADATA[suffix]):
                part.add_text(element.inside, element.after, element.text, escaped)
    if not any(name.endswith(".opf") for name in book.documents):
        raise DocumentError("it is not an EPUB: it has no package document")
