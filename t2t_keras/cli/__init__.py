"""The commands, one file each. Each parses its flags, makes one call and prints the result.

Heavy imports are inside functions, so that --help and wrong flags are handled without delay.
"""

import os
import sys


def is_command():
    """Returns whether this process is one of the package's commands."""
    words = iter(sys.orig_argv[1:])
    program = next((word for word in words if word == "-m" or not word.startswith("-")), "")
    if program == "-m":
        return next(words, "") == "t2t_keras.cli"
    return os.path.basename(program).startswith("t2t-")


if is_command():  # before the command's own imports
    from t2t_keras.cli.process.streams import begin

    begin()
