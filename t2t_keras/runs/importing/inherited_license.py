"""The license of a run's weights, which stays when training begins from a model of others.

Importable without TensorFlow and Keras.
"""

from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import read_json
from t2t_keras.runs.run_folder import RunFolder

GENERATIONS = 20  # maximum number of runs in a chain of --init


class Inherited(NamedTuple):
    """The model that a run is made from.

    Args:
        license: its license, such as "cc-by-4.0". None: unknown.
        hub: its name on the Hugging Face Hub. None: it has none.
    """

    license: str | None
    hub: str | None


def inherited_from(run):
    """Returns what a run is made from, an `Inherited`.

    t2t-train records it with --init. In a run of an earlier version, it is that of the initial run,
    if this is still at the recorded absolute path.

    Args:
        run: a `RunFolder`.
    """
    license = hub = None
    for _ in range(GENERATIONS):
        contents = read_json(run.config_file, {})
        origin, base = contents.get("origin") or {}, contents.get("base") or {}
        license = license or contents.get("license") or origin.get("license") or base.get("license")
        hub = hub or origin.get("hub") or base.get("hub")
        if "base" in contents or not follows(contents):
            break
        run = RunFolder(contents["init"])
    return Inherited(license, hub)


def follows(contents):
    """Returns whether the initial run of a config.json of an earlier version is known.

    A relative path could name a different run by now, and that of an imported run is a mere name.
    """
    init = contents.get("init")
    return bool(init) and not contents.get("imported") and Path(init).is_absolute()


def is_unknown(run):
    """Returns whether a run is made from a run whose license was not recorded and is not found."""
    contents = read_json(run.config_file, {})
    return bool(contents.get("init")) and not (
        "base" in contents or contents.get("imported") or Path(contents["init"]).is_absolute()
    )
