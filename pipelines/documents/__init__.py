"""Documents of many kinds as lists of units to translate; see `document.py`."""

import functools
import zipfile
import zlib
from xml.parsers import expat

from pipelines.documents.bilingual_xml import read_tmx, read_xliff
from pipelines.documents.document import Document
from pipelines.documents.document import DocumentError as DocumentError
from pipelines.documents.document import Options as Options
from pipelines.documents.json_strings import read_json
from pipelines.documents.markdown import read_markdown
from pipelines.documents.office import MICROSOFT, OPEN, read_office
from pipelines.documents.plain import read_table, read_text
from pipelines.documents.po import read_po
from pipelines.documents.subtitles import read_subtitles
from pipelines.documents.web import read_epub, read_html
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
    "docx docm pptx pptm xlsx xlsm": functools.partial(read_office, parts=MICROSOFT),
    "odt odp ods": functools.partial(read_office, parts=OPEN),
    "epub": read_epub,
}
SUFFIXES = {  # {suffix: (class, function)}
    f".{suffix}": (kind, read)
    for kind, kinds in ((Document, KINDS), (ZipDocument, ZIPPED))
    for suffixes, read in kinds.items()
    for suffix in suffixes.split()
}
# Errors for damaged files, of the libraries that read them. `NotImplementedError` is zipfile's for
# an unknown compression.
DAMAGED = (
    *(ValueError, RecursionError, EOFError, OSError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, expat.ExpatError),
)


def read_document(path, data, options):
    """Returns the `Document` or `ZipDocument` in the bytes of a file, whose suffix names its kind.

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
        document = kind(data)
        read(document, options)
        return document
    except DocumentError as error:
        reason = error
    except UnicodeError as error:
        reason = f"{error}. Convert the document to UTF-8 first"
    except DAMAGED as error:
        reason = f"it is not a valid {suffix} file: {error}"
    raise DocumentError(f"{path} cannot be translated: {reason}")
