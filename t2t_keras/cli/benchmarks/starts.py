"""Measures a command from its start to its first line, and its memory."""

import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple


class Start(NamedTuple):
    """Seconds until the first line, and the most memory in MB."""

    seconds: float
    memory: float


def start_of(arguments, line, rounds):
    """Returns the `Start` of t2t-translate with a line as its input: medians of several rounds."""
    found = [one_start(arguments, line) for _ in range(rounds)]
    return Start(*map(statistics.median, zip(*found, strict=True)))


def one_start(arguments, line):
    command = [sys.executable, "-m", "t2t_keras.cli.translate", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    begin = time.perf_counter()
    with subprocess.Popen(command, **pipes) as process:
        process.stdin.write(f"{line}\n".encode())
        process.stdin.close()
        process.stdout.readline()
        seconds = time.perf_counter() - begin
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ValueError(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Start(seconds, usage.ru_maxrss / (1024 if sys.platform == "linux" else 2**20))
