"""Settings of TensorFlow for GPUs: their memory, the rounding of products, XLA and its cache.

Keras is not loaded. how_to_use_gpus_and_machines.md says what has not been tried on a GPU.
"""

import contextlib
import functools
import os
import shlex

import tensorflow as tf
from absl import logging

from t2t_keras.training.hardware.hardware_description import gpu_names
from t2t_keras.training.hardware.program_cache import cache_folder

CACHE_FLAG = "--tf_xla_persistent_cache_directory"


def prepare_devices():
    """Prepares the GPUs for exact products in float32, before they are used.

    TensorFlow reserves the memory that it needs, instead of the whole memory of every GPU, unless
    the user has set TF_FORCE_GPU_ALLOW_GROWTH. TF32 is off; training may turn it on.
    """
    if not os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH"):
        for gpu in tf.config.list_physical_devices("GPU"):
            # A program that has already used or divided the GPU has made its own choice.
            with contextlib.suppress(RuntimeError, ValueError):
                tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.experimental.enable_tensor_float_32_execution(False)


@contextlib.contextmanager
def tf32(allowed):
    """Sets whether float32 products in the block may be rounded to TF32 on NVIDIA GPUs.

    XLA decides when it compiles a program, and TensorFlow's own operations when they run.
    """
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(allowed)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)


def choose_xla(wanted):
    """Returns whether XLA compiles, and logs the choice once. "auto": if there is a GPU or TPU.

    On a GPU, a small program is compiled first. If this fails, "auto" is False with a warning, and
    True raises `ValueError`.
    """
    gpus = tf.config.list_logical_devices("GPU")
    accelerators = gpus or tf.config.list_logical_devices("TPU")
    chosen = bool(accelerators) if wanted == "auto" else wanted
    level, reason = logging.INFO, "there is an accelerator"
    if chosen and gpus:
        keep_programs()  # before anything is compiled
        if failure := xla_failure():
            level, chosen = logging.WARNING, False
            reason = f"it cannot compile for the GPU ({failure}). It needs ptxas and libdevice, "
            reason += 'which pip install "tensorflow[and-cuda]" installs'
            if wanted != "auto":
                raise ValueError(
                    f"XLA was requested, but {reason}. Or use plain graphs: training.xla=auto, "
                    "or jit_compile=False"
                )
    elif not chosen:
        reason = "plain graphs are faster on CPUs"
    if wanted == "auto":
        logging.log_first_n(level, "XLA is %s: %s", 1, "on" if chosen else "off", reason)
    return chosen


@functools.cache
def xla_failure():
    """Compiles a small program for the first GPU. Returns the error message, or None."""

    @tf.function(jit_compile=True, autograph=False)
    def program(x):
        return tf.reduce_sum(tf.tanh(x @ x))  # a product, and a function from libdevice

    try:
        with tf.device("GPU:0"):
            float(program(tf.ones((4, 4))))
    except tf.errors.OpError as error:
        return error.message.strip().splitlines()[0]
    return None


@functools.cache
def keep_programs():
    """Makes XLA keep its programs for GPUs in a folder, so that later processes start faster.

    It has no effect after XLA has compiled something. The user's own TF_XLA_FLAGS take precedence.
    """
    given = os.environ.get("TF_XLA_FLAGS", "").strip()
    # It may also be the name of a file.
    if CACHE_FLAG in given or (given and not given.startswith("-")):
        return
    folder = cache_folder(f"tensorflow-{tf.__version__}", *gpu_names())
    if folder is None:
        return
    os.environ["TF_XLA_FLAGS"] = f"{given} {CACHE_FLAG}={shlex.quote(str(folder))}".strip()
    logging.info("XLA keeps compiled programs in %s", folder)
