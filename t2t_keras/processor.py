"""The processor of this machine: its name, and the cores that this process may use."""

import contextlib
import os
import platform
import re
import subprocess
from pathlib import Path


def cores():
    """Returns the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def processor_name():
    """Returns the processor's name as the system reports it, otherwise its architecture."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if platform.system() == "Darwin":
            query = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.check_output(query, text=True, timeout=5).strip()
        # On ARM, the kernel reports no name.
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"^model name\s*: *(\S.*)", text, re.MULTILINE):
            return found[1].strip()
    return platform.processor() or platform.machine()


def processor_text():
    """Describes the processor and the cores, such as "2 cores, AMD EPYC 7B13"."""
    count = cores()
    return f"{count} core{'s' * (count > 1)}, {processor_name()}"
