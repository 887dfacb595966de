"""Starts a command as its installed script does. Run as `console_script NAME ARGUMENT …`."""

import sys

from t2t_keras.cli.main import entry

sys.argv[:2] = [f"bin/t2t-{sys.argv[1]}"]
entry()
