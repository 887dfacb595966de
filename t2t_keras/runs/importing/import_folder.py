"""The folder of a run that is being imported, and the leftovers of a killed import.

Importable without TensorFlow and Keras, so that an existing folder is refused at once.
"""

import re
import shlex
import shutil

from t2t_keras.runs.config_file import read_config
from t2t_keras.translating.exports import versions_in

UNFINISHED = "config.json.unfinished"
UNPACKED = "unpacked"  # folder for the contents of a zip file
STEP = 0  # step number of the checkpoint with the imported weights
# Names of the files and folders that a killed import may leave in the run's folder.
LEFTOVERS = (
    r"config\.json\.unfinished|vocabulary(\..*\.unfinished)?|checkpoints|export_litert|"
    r"averaged\.npz|alignment\.json|metrics\.jsonl|imports|unpacked"
)


def check_new(run):
    """Rejects a folder that contains files, except those of an interrupted import.

    Args:
        run: a `RunFolder`.

    During an import, the folder contains the file `UNFINISHED`, which then becomes config.json.
    """
    if run.folder.exists() and not run.folder.is_dir():
        raise ValueError(f"{run.folder} is a file. Give the name of a new folder")
    names = {path.name for path in run.folder.glob("*")} - {".lock"}
    if UNFINISHED in names:
        names = {name for name in names if not re.fullmatch(LEFTOVERS, name)}
        steps = run.checkpoints.folder.glob("*")
        names |= {path.name for path in steps if path.stem != run.checkpoints.path(STEP).stem}
    if "config.json" in names:
        folder = shlex.quote(str(run.folder))
        raise ValueError(
            f"{run.folder} exists already, with the config.json of a complete run. Use it "
            f"(t2t-export {folder} --format=litert exports it for CPUs), or give the name of a new "
            "folder"
        )
    if names:
        raise ValueError(
            f"{run.folder} exists already, with {', '.join(sorted(names)[:3])}. Give the name of a "
            "new folder"
        )


def lacks_export(run, command):
    """Returns whether a command has made this run, but was killed during the export for LiteRT.

    Args:
        run: a `RunFolder`.
        command: the command line of t2t-import. The path of the program does not matter.
    """
    if not run.config_file.exists() or versions_in(run.folder / "export_litert"):
        return False
    return read_config(run.config_file).get("command", [])[1:] == command[1:]


def clear(run):
    """Deletes all files that `check_new` accepts, `UNFINISHED` last."""
    for path in sorted(run.folder.glob("*"), key=lambda path: path.name == UNFINISHED):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()
