"""ZIP files with parts that are translated. All other parts are copied byte for byte."""

import io
import zipfile
import zlib

from pipelines.documents.document import DocumentError

LARGEST = 2**28  # maximum size in bytes of all parts together
MOST = 20_000  # maximum number of parts
# Errors of `zipfile` for damaged files, truncated ones, and compression that Python does not know.
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, ValueError),
    *(EOFError, OSError, NotImplementedError),
)
RATIO = 200  # maximum compression of a part of more than a mebibyte


class ZipDocument:
    """A document in a ZIP file.

    Args:
        data: the file's bytes.
        read: function of the name of a part and {name: bytes} of all parts. It returns a `Template`
            and the function that encodes its text, or None if the part stays as it is.
    """

    def __init__(self, data, read):
        self.templates, self.skipped = {}, {}
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as file:
                check(file)
                self.comment = file.comment
                self.parts = {part.filename: (part, file.read(part)) for part in file.infolist()}
        except DocumentError:
            raise
        except DAMAGED as error:
            raise DocumentError(f"it is not a complete ZIP file: {error}") from None
        contents = {name: contents for name, (_, contents) in self.parts.items()}
        for name in contents:
            found = read(name, contents)
            if found is not None:
                self.templates[name] = found
        for template, _ in self.templates.values():
            for reason, count in template.skipped.items():
                self.skipped[reason] = self.skipped.get(reason, 0) + count

    @property
    def units(self):
        return [unit for template, _ in self.templates.values() for unit in template.units]

    def write(self, translations):
        """Returns the bytes of the file with the translation of each of `units`."""
        taken, output = 0, io.BytesIO()
        with zipfile.ZipFile(output, "w") as written:
            written.comment = self.comment
            for name, (part, contents) in self.parts.items():
                if name in self.templates:
                    template, encode = self.templates[name]
                    own = translations[taken : taken + len(template.units)]
                    taken += len(own)
                    contents = encode(template.write(own))
                written.writestr(part, contents)
        return output.getvalue()


def check(file):
    """Refuses files that are made to harm, and those that nobody can read without a password."""
    parts = file.infolist()
    names = [part.filename for part in parts]
    size = sum(part.file_size for part in parts)
    if any(part.flag_bits & 1 for part in parts):
        raise DocumentError("it is protected by a password. Save it without one")
    if len(parts) > MOST or size > LARGEST:
        raise DocumentError(
            f"it has {len(parts):,} parts of {size:,} bytes. Allowed: {MOST:,} of {LARGEST:,}"
        )
    for part in parts:
        if part.file_size > max(RATIO * part.compress_size, 2**20):
            raise DocumentError(f"its part {part.filename} expands to {part.file_size:,} bytes")
        if part.filename.startswith(("/", "\\")) or ".." in part.filename.split("/"):
            raise DocumentError(f"its part {part.filename} would lie outside of the document")
    if len({*names}) < len(names):
        raise DocumentError("two of its parts have the same name")
