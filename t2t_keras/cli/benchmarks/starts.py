"""Measures a command from its start to its first line, and its memory."""

import math
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Start(NamedTuple):
    """Seconds until the first line, and peak memory in MB."""

    seconds: float
    memory: float


def start_of(arguments, line, rounds):
    """Returns the `Start` of t2t-translate with a line as its input: medians of several rounds."""
    found = [one_start(arguments, line) for _ in range(rounds)]
    return Start(*map(statistics.median, zip(*found, strict=True)))


def one_start(arguments, line):
    command = [sys.executable, "-m", "t2t_keras.cli.translate", "--lines=1", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    begin = time.perf_counter()
    with subprocess.Popen(command, **pipes) as process:
        process.stdin.write(f"{line}\n".encode())
        process.stdin.flush()
        process.stdout.readline()
        seconds, memory = time.perf_counter() - begin, most_memory(process.pid)
        process.stdin.close()
        process.stdout.read()
    if process.returncode:
        raise ValueError(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Start(seconds, memory)


def most_memory(pid):
    """Returns the peak memory of a process in MB, or NaN if the system does not report it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return math.nan
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024
