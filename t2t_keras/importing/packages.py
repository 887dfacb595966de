"""Models that are given as a file: a zip file, an Argos package, or one file of a model's folder.

Zip files come from anywhere. Every entry is checked before the first one is written.
"""

import stat
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from t2t_keras.importing.argos import MODEL
from t2t_keras.importing.formats import FORMATS, hint_about, nothing_known

ARCHIVES = (".zip", ".argosmodel")
MOST_EXPANDED = 50  # maximum ratio of the contents' size to the zip file's size
ALLOWED = 16 << 20  # bytes of contents that are allowed beyond that ratio
IGNORED = {"__MACOSX", ".DS_Store"}  # written by macOS
# Exceptions of `zipfile` for a damaged file.
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OverflowError),
    *(NotImplementedError, UnicodeError),
)


def source_of(path, format, unpacked):
    """Returns (folder, format, options) of a model: its folder, and what the given path implies.

    Args:
        path: path of a folder, of a zip file, of an .npz file, or of one of `Format.files`.
        format: the requested format, or None.
        unpacked: the folder to which a zip file is unpacked.
    """
    path = Path(path)
    if path.is_dir():
        return around(path, format)
    if not path.is_file():
        reason = "is no folder and no file" if path.exists() else "does not exist"
        raise ValueError(f"{path} {reason}. Give the folder or the file of a model")
    name = path.name.lower()
    if name.endswith(".npz"):
        options = {"model": path} if format in (None, "marian") else {}
        return path.parent, format or "marian", options
    for implied, row in FORMATS.items():
        if name in row.files:
            folder, format, options = around(path.parent, format)
            return folder, format or implied, options
    if name.endswith(ARCHIVES):
        unpack(path, unpacked)
        return model_folder(unpacked, path, format), format, {}
    hint = hint_about([path.name])
    raise ValueError(
        f"{path} {f'is {hint}' if hint else 'is not a model that can be imported by itself'}. Give "
        "the folder that holds the model's files, or its model.npz or model.bin, or a .zip or "
        ".argosmodel file"
    )


def around(folder, format):
    """Does the same as `source_of` for a folder, which may be the `model` in an Argos package."""
    outer = folder.absolute().parent
    if (
        folder.absolute().name == MODEL
        and format in (None, "argos")
        and FORMATS["argos"].fits(outer)
    ):
        return outer, "argos", {}
    return folder, format, {}


def model_folder(unpacked, archive, format):
    """Returns the outermost folder that holds a model; there must be one alone."""
    formats = [FORMATS[format]] if format in FORMATS else FORMATS.values()
    folders = [unpacked, *(each for each in sorted(unpacked.rglob("*")) if each.is_dir())]
    found = [each for each in folders if any(form.fits(each) for form in formats)]
    depth = min((len(each.parts) for each in found), default=0)
    found = [each for each in found if len(each.parts) == depth]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(each.relative_to(unpacked).as_posix() for each in found[:5])
        raise ValueError(
            f"{archive} holds {len(found)} models: {names}. Unpack it and give the folder of one "
            "of them"
        )
    names = [each.name for each in unpacked.rglob("*") if each.is_file()]
    raise ValueError(f"{archive} holds {nothing_known(names, format)}")


def unpack(path, folder):
    """Unpacks a zip file into a new folder."""
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder, checked(archive.infolist(), path))
    except DAMAGED as error:
        raise ValueError(
            f"{path} cannot be unpacked: {error}. Download or copy it again"
        ) from error


def checked(members, path):
    """Returns a zip file's entries to unpack. Raises `ValueError` if any entry is harmful."""

    def refused(reason):
        return ValueError(f"{path} is not unpacked: {reason}")

    total, size = sum(member.file_size for member in members), path.stat().st_size
    if total > MOST_EXPANDED * size + ALLOWED:
        raise refused(
            f"its {size:,} bytes claim to hold {total:,}, more than the weights of a model can be "
            "compressed"
        )
    for member in members:
        name = PurePosixPath(member.filename.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts:
            raise refused(
                f"its entry {member.filename!r} is not the name of a file inside a folder"
            )
        if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise refused(f"its entry {member.filename!r} is a link or a device")
    return [member for member in members if not IGNORED & set(member.filename.split("/"))]
