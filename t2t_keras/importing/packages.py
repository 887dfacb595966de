"""Models that are given as a file: a zip file, an Argos package, or one file of a model's folder.

Zip files come from anywhere. Every entry is checked before the first one is written, and nothing is
written outside of the given folder.
"""

import errno
import io
import shutil
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

from t2t_keras.importing import argos
from t2t_keras.importing.formats import FORMATS, hint_about

ARCHIVES = (".zip", ".argosmodel")
# {name of a file that stands for its folder: format}
FILES = {
    **{"model.bin": "ctranslate2", "model.safetensors": "hugging_face"},
    **{"pytorch_model.bin": "hugging_face", "metadata.json": "argos"},
}
MOST_ENTRIES = 1000
LONGEST_READ = 1 << 20  # bytes; more than the list of so many entries needs
MOST_EXPANDED = 50  # maximum ratio of the contents' size to the zip file's size
ALLOWED = 16 << 20  # bytes of contents that are allowed beyond that ratio
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
IGNORED = ("__MACOSX", ".DS_Store")  # written by macOS
# Exceptions of `zipfile` for a damaged file.
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OverflowError),
    *(NotImplementedError, UnicodeError),
)


class Source(NamedTuple):
    """The place of a model's files.

    Args:
        folder: path of the folder.
        format: the format that the given path implies, or None.
        options: options of the format's `read` that the given path implies.
    """

    folder: Path
    format: str | None = None
    options: dict = {}


def source_of(path, format, unpacked):
    """Returns the `Source` of a model.

    Args:
        path: path of a folder, of a file in `FILES`, of an .npz file, or of a zip file.
        format: the requested format, or None.
        unpacked: the folder to which a zip file is unpacked.
    """
    path = Path(path)
    name = path.name.lower()
    if path.is_dir():
        return around(path, format)
    if not path.is_file():
        reason = "is no folder and no file" if path.exists() else "does not exist"
        raise ValueError(f"{path} {reason}. Give the folder or the file of a model")
    if name.endswith(".npz"):
        return Source(
            path.parent, format or "marian", {"model": path} if format in (None, "marian") else {}
        )
    if name in FILES:
        source = around(path.parent, format)
        return source._replace(format=source.format or FILES[name])
    if name.endswith(ARCHIVES):
        unpack(path, unpacked)
        return Source(model_folder(unpacked, path, format), format)
    hint = hint_about([path.name])
    raise ValueError(
        f"{path} {f'is {hint}' if hint else 'is not a model that can be imported by itself'}. Give "
        "the folder that holds the model's files, or its model.npz or model.bin, or a .zip or "
        ".argosmodel file"
    )


def around(folder, format):
    """Returns the `Source` of a folder, which may be the `model` inside an Argos package."""
    inner = folder.absolute().name == argos.MODEL and argos.is_format(folder.absolute().parent)
    if inner and format in (None, "argos"):
        return Source(folder.absolute().parent, "argos")
    return Source(folder, format)


def model_folder(unpacked, archive, format):
    """Returns the outermost folder that holds a model; there must be one alone."""
    formats = [FORMATS[format]] if format in FORMATS else FORMATS.values()
    folders = [unpacked]
    while folders:
        found = [each for each in folders if any(form.is_format(each) for form in formats)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(each.relative_to(unpacked).as_posix() for each in found[:5])
            raise ValueError(
                f"{archive} holds {len(found)} models: {names}. Unpack it and give the folder of "
                "one of them"
            )
        folders = [each for folder in folders for each in sorted(folder.iterdir()) if each.is_dir()]
    names = sorted(
        each.relative_to(unpacked).as_posix() for each in unpacked.rglob("*") if each.is_file()
    )
    hint = hint_about([name.rpartition("/")[2] for name in names])
    if hint and format is None:
        raise ValueError(f"{archive} holds {hint}")
    known = format or f"a known format ({', '.join(FORMATS)})"
    raise ValueError(
        f"{archive} holds no model of {known}. Its files are: {', '.join(names[:10]) or 'none'}"
    )


class LimitedFile(io.FileIO):
    """A file that is read in small parts. `zipfile` reads the list of a zip file's entries at once,
    so a list too long for the memory is rejected."""

    def read(self, size=-1):
        if size > LONGEST_READ:
            raise zipfile.BadZipFile("its list of entries is too long")
        return super().read(size)


def unpack(path, folder):
    """Unpacks a zip file into a new folder."""
    try:
        with LimitedFile(path) as file, zipfile.ZipFile(file) as archive:
            members = checked(archive.infolist(), path)
            total = sum(member.file_size for member in members)
            folder.mkdir(parents=True)
            free = shutil.disk_usage(folder).free
            if total > free:
                raise ValueError(
                    f"{path} holds {total:,} bytes, and {folder.parent} has room for {free:,}. "
                    "Make room, or give a --run on another disk"
                )
            for member in members:
                extract(archive, member, folder / member.filename)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a position before the file's beginning
            raise
        raise damaged(path, error) from error
    except DAMAGED as error:
        raise damaged(path, error) from error


def damaged(path, reason):
    return ValueError(f"{path} is not a whole zip file: {reason}. Download or copy it again")


def extract(archive, member, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as file, open(target, "xb") as output:
        shutil.copyfileobj(file, output, 1 << 18)
        if output.tell() != member.file_size:
            raise EOFError(f"{member.filename} ends after {output.tell():,} bytes")


def checked(members, path):
    """Returns the files among a zip file's entries. Raises `ValueError` if any entry is harmful."""

    def refused(reason):
        return ValueError(f"{path} is not unpacked: {reason}")

    if len(members) > MOST_ENTRIES:
        raise refused(f"it has {len(members):,} entries, more than {MOST_ENTRIES:,}")
    members = [each for each in members if not set(each.filename.split("/")) & set(IGNORED)]
    for member in members:
        name, mode = member.filename, member.external_attr >> 16
        parts = name.removesuffix("/").split("/")
        if {"", ".", ".."} & set(parts) or "\\" in name or "\0" in member.orig_filename:
            raise refused(f"its entry {name!r} is not the name of a file inside a folder")
        if len(name.encode()) > 1000 or any(len(part.encode()) > 255 for part in parts):
            raise refused(f"the name of its entry {name[:40]!r}… is too long")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise refused(f"its entry {name!r} is a link or a device")
        if member.flag_bits & 1:
            raise refused(f"its entry {name!r} is encrypted")
        if member.compress_type not in METHODS:
            raise refused(f"its entry {name!r} is compressed in an unusual way. Pack it with zip")
    files = [each for each in members if not each.is_dir()]
    names = [each.filename for each in files]
    folders = {str(parent) for name in names for parent in Path(name).parents}
    for name in names:
        if names.count(name) > 1 or name in folders:
            raise refused(f"its entry {name!r} occurs twice")
    total, size = sum(each.file_size for each in files), path.stat().st_size
    if total > MOST_EXPANDED * size + ALLOWED:
        raise refused(
            f"its {size:,} bytes claim to hold {total:,}, more than the weights of a model can be "
            "compressed"
        )
    return files
