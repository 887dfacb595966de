"""The table of document kinds."""

import functools

from pipelines.documents.bilingual_xml import read_tmx, read_xliff
from pipelines.documents.document import DocumentError
from pipelines.documents.epub import read_epub
from pipelines.documents.json_strings import read_json
from pipelines.documents.markdown import read_markdown
from pipelines.documents.office import OPEN, SHEETS, SLIDES, WORD, read_office
from pipelines.documents.plain import read_table, read_text
from pipelines.documents.po import read_po
from pipelines.documents.subtitles import read_subtitles
from pipelines.documents.web import read_html

ZIP = b"PK\x03\x04"


def office(kind):
    return lambda data, options: read_office(data, kind)


def table(separator):
    return functools.partial(read_table, separator=separator)


# {suffixes: function of a file's bytes and `Options`}
KINDS = {
    "html htm xhtml": read_html,
    "md markdown": read_markdown,
    "xlf xliff": read_xliff,
    "tmx": read_tmx,
    "po pot": read_po,
    "json arb": read_json,
    "srt vtt ass ssa": read_subtitles,
    "docx docm": office(WORD),
    "pptx pptm": office(SLIDES),
    "xlsx xlsm": office(SHEETS),
    "odt odp ods": office(OPEN),
    "epub": read_epub,
    "txt": read_text,
    "csv": table(","),
    "tsv": table("\t"),
}
SUFFIXES = {f".{each}": read for suffixes, read in KINDS.items() for each in suffixes.split()}
ZIPPED = (".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm", ".odt", ".odp", ".ods", ".epub")


class Document:
    """A file's units, and the function that writes their translations into a copy of the file.

    Attributes:
        units: list of `Unit`s.
        skipped: {reason: number of texts that are not translated}.
    """

    def __init__(self, content, encode=bytes):
        self.content, self.encode = content, encode
        self.units, self.skipped = content.units, content.skipped

    def write(self, translations):
        """Returns the bytes of the file with a translation for each unit."""
        return self.encode(self.content.write(translations))


def read_document(path, data, options):
    """Reads a document.

    Args:
        path: its `Path`; the suffix decides how `data` is read.
        data: its bytes.
        options: `Options`.

    Raises:
        DocumentError: the file is not such a document. The message begins with its path.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        kinds = " ".join(SUFFIXES)
        raise DocumentError(f"{path} has no suffix of a known kind of document: {kinds}")
    try:
        if data.startswith(ZIP) != (suffix in ZIPPED):
            is_not = "is not" if suffix in ZIPPED else "is"
            raise DocumentError(f"it {is_not} a ZIP file, unlike a {suffix} file")
        found = SUFFIXES[suffix](data, options)
    except DocumentError as error:
        raise DocumentError(f"{path} cannot be translated: {error}") from None
    return Document(*found) if isinstance(found, tuple) else Document(found)
