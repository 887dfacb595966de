"""Loads Keras and TensorFlow without showing the messages that they print while loading."""

import contextlib
import gc
import os
import sys

from absl import flags

from t2t_keras.quiet_loading import LEVEL, quiet_loading

# TensorFlow and Keras import these packages if they are installed, but do not require them. No
# command uses the parts that need them. JAX requires SciPy.
OPTIONAL = ("matplotlib", "pandas", "scipy")


def load_backend(with_keras=True, on_jax=False):
    """Imports Keras and its backend, and prepares the devices.

    Messages are dropped unless loading fails or --verbosity is at least 1. Rejects a KERAS_BACKEND
    that does not suit the command.

    Args:
        with_keras: whether to import Keras. False: hide it, or TensorFlow would load it.
        on_jax: whether the command also runs on JAX, if that is Keras' backend.
    """
    set_log_level()
    backend = choose_backend(on_jax) if with_keras else None
    hidden = [*OPTIONAL, "jax"] if with_keras else [*OPTIONAL, "jax", "keras"]
    if backend == "jax":
        hidden = ["matplotlib", "pandas"]
    with quiet_loading(), imports_only_needed(hidden):
        if with_keras:
            import keras

            keras.config.set_floatx("float32")
            if keras.config.backend() != "tensorflow":
                return
        from t2t_keras.training.hardware.devices import prepare_devices

        prepare_devices()


def choose_backend(on_jax=False):
    """Sets Keras' backend in the environment, and returns it; see `load_backend`."""
    backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
    if backend not in ("tensorflow", *["jax"] * on_jax):
        raise ValueError(
            "needs TensorFlow as Keras' backend. Set KERAS_BACKEND=tensorflow. "
            f"Received: KERAS_BACKEND={backend}"
        )
    os.environ["KERAS_BACKEND"] = backend  # keras.json may belong to other projects
    return backend


def set_log_level():
    """Hides TensorFlow's later notes unless --verbosity is at least 1.

    Its errors are shown if there is a GPU. On CPUs, they are notes such as "oneDNN supports
    DT_INT64 only on platforms with AVX-512". Its warnings are never shown: it warns of each failed
    assertion, so clients of t2t-serve could fill the disk.
    """
    if flags.FLAGS["verbosity"].value >= 1:
        os.environ[LEVEL] = "0"
    else:
        os.environ.setdefault(LEVEL, "2" if os.path.exists("/dev/nvidiactl") else "3")


@contextlib.contextmanager
def imports_only_needed(hidden):
    """Makes imports faster by hiding packages, as if they were not installed.

    Garbage collection is also paused, and later skips the objects that the imports created.
    """
    hidden = [name for name in hidden if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))
    gc.disable()
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
        gc.freeze()
        gc.enable()
