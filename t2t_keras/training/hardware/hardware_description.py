"""Describes the hardware that trains: processor, cores, memory, accelerators."""

import collections
import contextlib
import os
import platform
import re
import subprocess
from pathlib import Path

import tensorflow as tf

GIB = 2**30


def this_hardware(replicas=1, machines=1):
    """Returns a dict of JSON values that describes this machine.

    Args:
        replicas: number of replicas in the job.
        machines: number of machines in the job. The others are assumed to be like this one.
    """
    return {
        "processor": processor_name(),
        "cores": available_cores(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB),
        "accelerators": gpu_names() + ["TPU"] * len(tf.config.list_logical_devices("TPU")),
        "replicas": replicas,
        "machines": machines,
    }


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


def available_cores():
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def gpu_names():
    """Returns the name of each GPU of this machine."""
    devices = tf.config.list_physical_devices("GPU")
    details = map(tf.config.experimental.get_device_details, devices)
    return [each.get("device_name", "GPU") for each in details]


def hardware_text(hardware):
    """Returns the result of `this_hardware` as text, for example "2 cores of AMD EPYC, 23 GiB"."""
    text = f"{hardware['cores']} cores of {hardware['processor']}, {hardware['memory_gib']} GiB"
    counts = collections.Counter(hardware["accelerators"])
    names = [f"{count} × {name}" for name, count in counts.items()]
    text = ", ".join([*names, text])
    if hardware["machines"] > 1:
        return f"{hardware['machines']} machines, the first with {text}"
    return text
