"""Runs three stages in a process of its own, which the second one may kill.

Run as `stages_process FOLDER`. Each stage writes FOLDER/NAME. The second one kills this process
unless FOLDER/alive exists.
"""

import subprocess
import sys
from pathlib import Path

from t2t_keras.stages.stages import Stages

CODE = """
import os, pathlib, signal, sys
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
if name == "second" and not (folder / "alive").exists():
    os.kill(os.getppid(), signal.SIGKILL)
else:
    (folder / name).touch()
"""


def start_python(command, arguments, log):
    """Starts a stage that runs Python code: its first argument, with the others in `sys.argv`."""
    return subprocess.Popen(
        [sys.executable, "-ISc", *arguments], stdout=log, stderr=log, start_new_session=True
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    stages = Stages(folder, "demo", start=start_python)
    for name in ("first", "second", "third"):
        stages.run_once(name, "python", [CODE, folder, name], creates=folder / name)
