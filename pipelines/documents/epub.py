"""EPUB: chapters, their table of contents, and the title and description of the book."""

from pathlib import PurePosixPath

from pipelines.documents.document import DocumentError, escaped
from pipelines.documents.web import read_html
from pipelines.documents.xml_tree import root_of

METADATA = {".opf": ("title", "description", "subject"), ".ncx": ("text",)}


def read_epub(book, options):
    for name in book.parts:
        suffix = PurePosixPath(name).suffix.lower()
        if suffix in (".xhtml", ".html", ".htm"):
            read_html(book.opened(name), options)
        elif suffix in METADATA:
            part = book.opened(name)
            root = root_of(part)
            for element in root.find("language") if options.target else ():
                part.add(element.inside, element.after, [], lambda: options.target, keeps=False)
            for element in root.find(*METADATA[suffix]):
                part.add_text(element.inside, element.after, element.text, escaped)
    if not any(name.endswith(".opf") for name in book.documents):
        raise DocumentError("it is not an EPUB: it has no package document")
