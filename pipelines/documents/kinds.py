"""The table of document kinds."""

import functools

from pipelines.documents.bilingual_xml import read_tmx, read_xliff
from pipelines.documents.document import Document, DocumentError
from pipelines.documents.epub import read_epub
from pipelines.documents.json_strings import read_json
from pipelines.documents.markdown import read_markdown
from pipelines.documents.office import OPEN, SHEETS, SLIDES, WORD, read_office
from pipelines.documents.plain import read_table, read_text
from pipelines.documents.po import read_po
from pipelines.documents.subtitles import read_subtitles
from pipelines.documents.web import read_html
from pipelines.documents.zip_parts import ZipDocument

# {suffixes: function of a `Document` and `Options` that adds the places of the translations}
KINDS = {
    "html htm xhtml": read_html,
    "md markdown": read_markdown,
    "xlf xliff": read_xliff,
    "tmx": read_tmx,
    "po pot": read_po,
    "json arb": read_json,
    "srt vtt ass ssa": read_subtitles,
    "txt": read_text,
    "csv": functools.partial(read_table, separator=","),
    "tsv": functools.partial(read_table, separator="\t"),
}
# The same for a `ZipDocument`.
ZIPPED = {
    "docx docm": functools.partial(read_office, office=WORD),
    "pptx pptm": functools.partial(read_office, office=SLIDES),
    "xlsx xlsm": functools.partial(read_office, office=SHEETS),
    "odt odp ods": functools.partial(read_office, office=OPEN),
    "epub": read_epub,
}
# {suffix: (class, function)}
SUFFIXES = {
    f".{suffix}": (kind, read)
    for kind, kinds in ((Document, KINDS), (ZipDocument, ZIPPED))
    for suffixes, read in kinds.items()
    for suffix in suffixes.split()
}


def read_document(path, data, options):
    """Returns the `Document` or `ZipDocument` in a file.

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
    kind, read = SUFFIXES[suffix]
    try:
        if data.startswith(b"\xd0\xcf\x11\xe0"):
            raise DocumentError("it has a password or a format of Office 2003. Save it without")
        if data.startswith(b"PK\x03\x04") != (kind is ZipDocument):
            is_not = "is not" if kind is ZipDocument else "is"
            raise DocumentError(f"it {is_not} a ZIP file, unlike a {suffix} file")
        document = kind(data)
        read(document, options)
    except DocumentError as error:
        raise DocumentError(f"{path} cannot be translated: {error}") from None
    except RecursionError:
        raise DocumentError(f"{path} cannot be translated: it is nested too deeply") from None
    return document
