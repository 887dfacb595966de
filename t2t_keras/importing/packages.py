"""Models given as a file: a zip file, an Argos package, or one file of a model's folder."""

import zipfile
from pathlib import Path

from t2t_keras.importing.argos import MODEL
from t2t_keras.importing.files.whole_file import reading
from t2t_keras.importing.formats import FORMATS, hint_about, nothing_known

ARCHIVES = (".zip", ".argosmodel")
MOST_EXPANDED = 50  # maximum size of the contents, relative to the zip file
ALLOWED = 1 << 24  # bytes of contents that are allowed beyond that ratio
IGNORED = {"__MACOSX", ".DS_Store"}  # written by macOS


def source_of(path, format, unpacked):
    """Returns (folder, format, options) of a model: its folder, and what the given path implies.

    Args:
        path: path of a folder, of a zip file, of an .npz file, or of one of `Format.files`.
        format: the requested format, or None.
        unpacked: the folder to which a zip file is unpacked.
    """
    path = Path(path)
    if path.is_dir():
        return *around(path, format), {}
    if not path.is_file():
        reason = "is no folder and no file" if path.exists() else "does not exist"
        raise ValueError(f"{path} {reason}. Give the folder or the file of a model")
    name = path.name.lower()
    if name.endswith(".npz"):
        options = {"model": path} if format in (None, "marian") else {}
        return path.parent, format or "marian", options
    for implied, row in FORMATS.items():
        if name in row.files:
            folder, format = around(path.parent, format)
            return folder, format or implied, {}
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
    """Returns folder and format; for the `model` in an Argos package, the package's."""
    outer, is_open = folder.absolute().parent, format in (None, "argos")
    if is_open and folder.absolute().name == MODEL and FORMATS["argos"].fits(outer):
        return outer, "argos"
    return folder, format


def model_folder(unpacked, archive, format):
    """Returns the outermost folder that holds a model; there must be exactly one."""
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
    """Unpacks a zip file into a new folder. `zipfile` writes nothing outside of it and no links."""
    with reading(path, "zip file"), zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > ALLOWED + MOST_EXPANDED * path.stat().st_size:
            raise ValueError(f"it claims to hold {size:,} bytes, too many for its own size")
        names = (each for each in archive.namelist() if not IGNORED & set(each.split("/")))
        archive.extractall(folder, names)
