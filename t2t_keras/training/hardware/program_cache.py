"""The folder in which XLA keeps compiled programs, so that later processes start faster.

It is $XDG_CACHE_HOME/t2t_keras/xla, or ~/.cache/t2t_keras/xla. It may be deleted between runs.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from absl import logging


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
    except OSError as error:  # XLA would fail when it writes the first program
        logging.info("XLA keeps no compiled programs: %s", error)
        return None
    return folder
