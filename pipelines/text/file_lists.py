"""Lists of files in one string: a path, a glob, or several of them separated by commas.

A string that is an existing path denotes that file, even if it contains commas or brackets. Any
other string is split at commas, and each item is matched as a glob.
"""

import glob
import os
from pathlib import Path

from pipelines.checks import SourceError


def split_list(text):
    """Returns the items of a comma-separated list. An existing path is one item."""
    return [text] if os.path.exists(text) else text.split(",")


def find_files(name, paths):
    """Returns the files that a path, a glob or a comma-separated list of them denotes.

    Args:
        name: description of the files for messages, such as "source".
        paths: a string or a path.
    """
    files = []
    for item in split_list(str(paths)):
        matches = [] if os.path.exists(item) else sorted(glob.glob(item))
        files += map(Path, matches or [item])
    for path in files:
        if path.is_dir():
            raise SourceError(f"The {name} text must be a file. Received: the folder {path}")
        if not path.is_file():
            raise SourceError(f"There is no {name} file {path}, and no file matches that pattern")
    return files


def as_pattern(item):
    """Returns a list item as a glob. If the item exists, the glob matches only that item."""
    return glob.escape(item) if os.path.exists(item) else item
