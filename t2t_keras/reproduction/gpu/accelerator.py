"""The accelerator of this process, on TensorFlow or JAX: its name, memory and matrix products."""

from typing import NamedTuple

import keras

from t2t_keras.processor import processor_name
from t2t_keras.reproduction.timing import median_seconds

# Operations per second in bfloat16, without sparsity, from NVIDIA's data sheets.
PEAKS = {
    "B200": 2250e12,
    "H200 NVL": 835e12,
    "H200": 989e12,
    "H100 NVL": 835e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
}


class Row(NamedTuple):
    name: str
    value: float | str
    unit: str = ""


class NotPossible(Exception):
    """A part cannot run here. The message is the reason."""


def on_jax():
    return keras.config.backend() == "jax"


def accelerators():
    """Returns the names of the accelerators that the backend sees."""
    if on_jax():
        import jax

        return [each.device_kind for each in jax.devices() if each.platform != "cpu"]
    from t2t_keras.training.hardware.hardware_description import gpu_names

    return gpu_names()


def require_accelerator():
    if not accelerators():
        raise NotPossible("there is no GPU")


def peak():
    """Returns the published peak of the accelerator in bfloat16, or None if it is not known."""
    words = {*accelerators()[0].replace("-", " ").split()} if accelerators() else set()
    if "MIG" in words:  # a part of a GPU
        return None
    return next((rate for kind, rate in PEAKS.items() if words.issuperset(kind.split())), None)


def memory_rows():
    """Yields the peak of allocated memory since this process began."""
    if not accelerators():
        return
    if on_jax():
        import jax

        used = jax.devices()[0].memory_stats()["peak_bytes_in_use"]
    else:
        import tensorflow as tf

        used = tf.config.experimental.get_memory_info("GPU:0")["peak"]
    yield Row("memory, peak", used / 2**30, "GiB")


def product_rate(size, dtype):
    """Returns the operations per second of a product of two square matrices."""
    from keras import ops

    matrix = ops.cast(keras.random.normal((size, size)), dtype)
    product = compiled(lambda x: ops.sum(ops.matmul(x, x)))
    (seconds,) = median_seconds([lambda: float(product(matrix))], rounds=5)
    return 2 * size**3 / seconds


def compiled(function):
    if on_jax():
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, autograph=False)


def hardware(size):
    """Yields names and versions of hardware and software, and the speed of a matrix product."""
    found = accelerators()
    backend = __import__(keras.config.backend())
    yield Row("backend", f"{backend.__name__} {backend.__version__}, Keras {keras.__version__}")
    yield Row("devices", ", ".join(found) or f"no GPU; {processor_name()}")
    rate = product_rate(size.product, "bfloat16")
    yield Row(f"bfloat16 product of {size.product}³", rate / 1e12, "TFLOP/s")
    if limit := peak():
        yield Row("share of the published peak", 100 * rate / limit, "%")
