"""ZIP files with parts that are translated. All other parts are copied byte for byte."""

import io
import zipfile
from collections import Counter

from pipelines.documents.document import Document, DocumentError

LARGEST = 2**28  # maximum size in bytes of all parts together
MOST = 20_000  # maximum number of parts
RATIO = 200  # maximum compression of a part of more than a mebibyte


class ZipDocument:
    """A document in a ZIP file. See `Document` for its methods.

    Attributes:
        parts: {name: bytes}.
    """

    def __init__(self, data):
        self.documents, self.skipped = {}, Counter()
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            self.comment, self.entries = file.comment, file.infolist()
            check(self.entries)
            self.parts = {part.filename: file.read(part) for part in self.entries}

    def opened(self, name):
        """Returns the `Document` of a part that is translated."""
        document = self.documents[name] = Document(self.parts[name])
        document.skipped = self.skipped
        return document

    @property
    def units(self):
        return [unit for document in self.documents.values() for unit in document.units]

    def write(self, translations):
        given, output = iter(translations), io.BytesIO()
        new = {name: document.write(given) for name, document in self.documents.items()}
        with zipfile.ZipFile(output, "w") as written:
            written.comment = self.comment
            for entry in self.entries:
                written.writestr(entry, (self.parts | new)[entry.filename])
        return output.getvalue()


def check(parts):
    """Refuses files that are made to harm, and those that nobody can read without a password."""
    size = sum(part.file_size for part in parts)
    if len(parts) > MOST or size > LARGEST:
        raise DocumentError(f"it has more than {MOST:,} parts, or {LARGEST:,} bytes in them")
    for part in parts:
        name = part.filename
        if part.flag_bits & 1:
            raise DocumentError("it is protected by a password. Save it without one")
        if part.file_size > max(RATIO * part.compress_size, 2**20):
            raise DocumentError(f"its part {name} expands to {part.file_size:,} bytes")
        if name.startswith(("/", "\\")) or ".." in name.split("/"):
            raise DocumentError(f"its part {name} would lie outside of the document")
        if name.startswith("_xmlsignatures/") or name == "META-INF/documentsignatures.xml":
            raise DocumentError("it is signed, and a translation would break the signature")
    if len({part.filename for part in parts}) < len(parts):
        raise DocumentError("two of its parts have the same name")
