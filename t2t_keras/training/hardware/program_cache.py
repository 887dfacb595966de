"""The folder in which XLA keeps compiled programs, so that later processes start faster.

It is $XDG_CACHE_HOME/t2t_keras/xla, or ~/.cache/t2t_keras/xla. It may be deleted between runs.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from absl import logging

VARINT = 0  # kind of a protocol buffer field: an integer
LENGTH_DELIMITED = 2  # kind of a protocol buffer field: bytes after their length


def cache_folder(version, *devices):
    """Returns the folder for a version of the compiler and for devices, or None without one.

    Args:
        version: name and version of the library that compiles, such as "tensorflow-2.21.0".
        *devices: names of the devices for which it compiles.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    compiler = "\n".join([*devices, os.environ.get("XLA_FLAGS", "")])
    digest = hashlib.sha256(compiler.encode()).hexdigest()[:12]
    folder = Path(base, "t2t_keras", "xla", f"{version}-{digest}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        for path in folder.glob("*.pb"):
            if not is_whole(path):
                path.unlink(missing_ok=True)
    except OSError as error:  # XLA would fail when it writes the first program
        logging.info("XLA keeps no compiled programs: %s", error)
        return None
    return folder


def is_whole(path):
    """Returns whether a file is a protocol buffer whose fields end where the file ends.

    TensorFlow stops with an error at a program that a power failure or a full disk has truncated.
    """
    size = path.stat().st_size
    with open(path, "rb") as file:
        while file.tell() < size:
            tag, value = varint(file), varint(file)
            if tag & 7 == LENGTH_DELIMITED and 0 <= value <= size:
                file.seek(value, os.SEEK_CUR)
            elif tag & 7 != VARINT or value < 0:
                return False
        return 0 < size == file.tell()


def varint(file):
    """Reads an integer of a protocol buffer. At the end of the file, it is −1."""
    value = shift = 0
    while byte := file.read(1):
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return value
    return -1
