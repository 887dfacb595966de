"""Paths that TensorFlow can read from: their names are UTF-8.

It takes the name of a checkpoint for a pattern, in which brackets and backslashes are special.
"""

import contextlib
import os
import re
import tempfile


@contextlib.contextmanager
def plain_path(folder):
    """Yields a path to a folder that TensorFlow can read.

    It is a temporary link if the folder's path has a special character.
    """
    path = str(folder)
    if not re.search(r"[\[\\\udc80-\udcff]", path):
        yield path
        return
    with tempfile.TemporaryDirectory() as temporary:
        link = os.path.join(temporary, "link")
        os.symlink(os.path.abspath(path), link)
        yield link
