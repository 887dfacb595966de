"""EPUB: chapters, their table of contents, and the title and description of the book."""

from pathlib import PurePosixPath

from pipelines.documents.document import DocumentError, Template
from pipelines.documents.web import read_html
from pipelines.documents.xml_tree import escaped, parsed
from pipelines.documents.zip_parts import ZipDocument

METADATA = {".opf": ("title", "description", "subject"), ".ncx": ("text",)}


def read_epub(data, options):
    def read(name, parts):
        suffix = PurePosixPath(name).suffix.lower()
        if suffix in (".xhtml", ".html", ".htm"):
            return read_html(parts[name], options)
        if suffix not in METADATA:
            return None
        root, source, encode = parsed(parts[name])
        template = Template(source)
        for element in root.find(*METADATA[suffix]):
            template.add_text(element.inside, element.after, element.text, escaped)
        return template, encode

    document = ZipDocument(data, read)
    if not any(name.endswith(".opf") for name in document.templates):
        raise DocumentError("it is not an EPUB: it has no package document")
    return document
