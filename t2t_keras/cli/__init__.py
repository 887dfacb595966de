"""The commands, one short file each; `main.py` is what they share."""

import os

# TensorFlow greets every process with a page of log; a command's output is its own.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
