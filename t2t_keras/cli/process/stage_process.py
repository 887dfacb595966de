"""Runs `t2t-NAME` as a stage: `python -m t2t_keras.cli.process.stage_process NAME ARGUMENTS`.

The process ends with its parent, even if the parent is killed. Otherwise it would keep its output
locked, and the same command could not resume.
"""

import contextlib
import ctypes
import os
import runpy
import signal
import sys

PARENT = "T2T_STAGE_PARENT"  # environment variable with the process id of the parent
PR_SET_PDEATHSIG = 1  # option of Linux' prctl: the signal that follows the parent's death


def main():
    with contextlib.suppress(OSError, AttributeError):  # other systems have no such option
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = os.environ.pop(PARENT, None)
    if parent is not None and os.getppid() != int(parent):  # it died before the line above
        sys.exit(1)
    name = sys.argv.pop(1)
    runpy.run_module(f"t2t_keras.cli.{name}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
