"""Describes the hardware that trains: processor, cores, memory, accelerators."""

import collections
import os

import tensorflow as tf

from t2t_keras.processor import cores, processor_name

GIB = 2**30


def this_hardware(replicas=1, machines=1):
    """Returns a dict of JSON values that describes this machine; all of a job are assumed alike."""
    return {
        "processor": processor_name(),
        "cores": cores(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB),
        "accelerators": gpu_names() + ["TPU"] * len(tf.config.list_logical_devices("TPU")),
        "replicas": replicas,
        "machines": machines,
    }


def gpu_names():
    """Returns the name of each GPU of this machine."""
    devices = tf.config.list_physical_devices("GPU")
    details = map(tf.config.experimental.get_device_details, devices)
    return [each.get("device_name", "GPU") for each in details]


def hardware_text(hardware):
    """Returns the result of `this_hardware` as text, for example "2 cores of AMD EPYC, 23 GiB"."""
    count = hardware["cores"]
    named = f"{count} core{'s' * (count > 1)} of {hardware['processor']}"
    text = f"{named}, {hardware['memory_gib']} GiB"
    counts = collections.Counter(hardware["accelerators"])
    names = [f"{count} × {name}" for name, count in counts.items()]
    text = ", ".join([*names, text])
    if hardware["machines"] > 1:
        return f"{hardware['machines']} machines, the first with {text}"
    return text
