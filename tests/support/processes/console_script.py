"""Starts a command as its installed script does: by a call of its module's `entry`.

Run as `console_script NAME ARGUMENT …`.
"""

import importlib
import sys

name = sys.argv.pop(1)
sys.argv[0] = f"bin/t2t-{name}"
importlib.import_module(f"t2t_keras.cli.{name}").entry()
