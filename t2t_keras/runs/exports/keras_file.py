"""Exports of a run as one file of Keras."""

import shutil

from pipelines.atomic_files import atomic_file


def write(run, path, weights=None):
    """Writes a file for `keras.saving.load_model`, which needs this package to be installed.

    Args:
        run: a `Run`.
        path: path of the file.
        weights: see `Run`.
    """
    if path.suffix != ".keras":
        raise ValueError(f"--output must name a file that ends in .keras. Received: {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.stem}.unfinished.keras")
    with atomic_file(path) as output:  # at most one process writes it
        try:
            run.loaded(weights).save(unfinished)
            with open(unfinished, "rb") as file:
                shutil.copyfileobj(file, output)
        finally:
            unfinished.unlink(missing_ok=True)
    return path
