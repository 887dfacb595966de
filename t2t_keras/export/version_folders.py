"""Numbered folders, one for each version of a SavedModel, as TensorFlow Serving expects them."""


def versions_in(folder):
    """Returns the numbered subfolders of `folder` as a dict from version to path."""
    if not folder.is_dir():
        return {}
    return {
        int(path.name): path
        for path in folder.iterdir()
        if path.name.isascii() and path.name.isdecimal() and path.is_dir()
    }
