"""Runs `t2t-NAME` as `python -m t2t_keras.cli NAME ARGUMENTS`, which is how stages run.

A stage ends with its parent, even if the parent is killed. Otherwise it would keep its output
locked, and the same command could not resume.
"""

import contextlib
import ctypes
import os
import signal
import sys

PARENT = "T2T_STAGE_PARENT"  # environment variable with the process id of the parent
PR_SET_PDEATHSIG = 1  # option of Linux' prctl: the signal that follows the parent's death


def main():
    sys.argv[:2] = [f"t2t-{sys.argv[1]}"]
    if (parent := os.environ.pop(PARENT, None)) is not None:
        with contextlib.suppress(OSError, AttributeError):  # other systems have no such option
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # it died before the line above
            sys.exit(1)
    from t2t_keras.cli.main import entry

    entry()


if __name__ == "__main__":
    main()
