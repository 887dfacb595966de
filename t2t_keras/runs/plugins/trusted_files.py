"""The plug-in files that this user trusts, by their SHA-256.

They are recorded outside of runs, in $XDG_CONFIG_HOME/t2t_keras/trusted, so a run that was copied
from elsewhere cannot declare its own files trusted.
"""

import os
from pathlib import Path

from pipelines.printable import printable

NOTED = set()  # SHA-256 of the files that were trusted in this process


def record_path():
    """Returns the path of the record."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # as the XDG specification demands
        folder = os.path.join(os.path.expanduser("~"), ".config")
    return Path(folder) / "t2t_keras" / "trusted"


def is_trusted(sha256):
    """Returns whether this process or an earlier one has trusted a file."""
    return sha256 in NOTED or sha256 in recorded()


def recorded():
    """Returns the recorded SHA-256s."""
    try:
        lines = record_path().read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return {line.split()[0] for line in lines if line.strip()}


def trust_file(sha256, path):
    """Records a file as trusted.

    Args:
        sha256: SHA-256 of its contents.
        path: path of the file, which is recorded for the reader.

    Returns:
        "" or, if it cannot be recorded, the reason: the file is then trusted in this process only.
    """
    NOTED.add(sha256)
    record = record_path()
    if not record.is_absolute():
        return "there is no home directory, and XDG_CONFIG_HOME is not set"
    if sha256 in recorded():
        return ""
    line = printable(f"{sha256}  {os.path.abspath(path)}").encode(errors="replace") + b"\n"
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        mode = os.O_RDWR | os.O_APPEND | os.O_CREAT
        with open(os.open(record, mode, 0o600), "r+b", buffering=0) as file:
            # A line by hand may lack its end. Each file is one write, so that several processes can
            # append at the same time.
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            file.write((b"" if file.read(1) in (b"", b"\n") else b"\n") + line)
    except OSError as error:
        return f"{record} cannot be written ({error.strerror})"
    return ""
