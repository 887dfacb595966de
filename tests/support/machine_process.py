"""Runs t2t-train as one machine of a job: `machine_process TF_CONFIG FLAG…`."""

import os
import runpy
import sys

if __name__ == "__main__":
    os.environ["TF_CONFIG"] = sys.argv.pop(1)
    runpy.run_module("t2t_keras.cli.train", run_name="__main__", alter_sys=True)
