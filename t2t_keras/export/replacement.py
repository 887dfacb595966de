"""Replaces a folder with a new one. If the process is killed, neither folder is lost.

Linux exchanges the names of two folders in one step. Where this is not possible, the old folder is
renamed first, and the next use of its name restores it if the process was killed in between.
"""

import contextlib
import ctypes
import os
import shutil

EXCHANGE = 2  # RENAME_EXCHANGE in Linux
HERE = -100  # AT_FDCWD: paths are relative to the working directory


def replace_folder(new, folder):
    """Gives a folder its final name, and deletes the folder that has this name, if there is one."""
    if folder.exists() and exchanged(new, folder):
        shutil.rmtree(new, ignore_errors=True)
        return
    while True:
        if folder.exists():
            shutil.rmtree(replaced_name(folder), ignore_errors=True)
            folder.rename(replaced_name(folder))
        try:
            new.rename(folder)
            break
        except OSError:
            if not folder.exists():  # otherwise, a different process has restored it
                raise
    shutil.rmtree(replaced_name(folder), ignore_errors=True)


def restore(folder):
    """Restores a folder whose replacement was interrupted between its two steps."""
    if not folder.exists():
        with contextlib.suppress(OSError):  # there is nothing to restore
            replaced_name(folder).rename(folder)


def replaced_name(folder):
    return folder.with_name(f"{folder.name}.replaced")


def exchanged(one, other):
    """Exchanges the names of two folders. Returns False if the system cannot do that."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0
