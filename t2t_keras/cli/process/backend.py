"""Loads Keras and TensorFlow without showing the messages that they print while loading."""

import contextlib
import gc
import importlib.util
import json
import os
import sys

from absl import flags

from t2t_keras.quiet_loading import LEVEL, quiet_loading

# TensorFlow and Keras import these packages if they are installed, but do not require them. No
# command uses the parts that need them. JAX requires SciPy.
OPTIONAL = ("matplotlib", "pandas", "scipy")


def load_backend(with_keras=True, on_jax=False):
    """Imports Keras and its backend, and prepares the devices.

    Messages are dropped unless loading fails or --verbosity is at least 1.

    Args:
        with_keras: whether to import Keras. False: hide it, or TensorFlow would load it.
        on_jax: whether the command also runs on JAX, if that is Keras' backend.

    Raises:
        ValueError: the user's settings of Keras do not suit the command.
    """
    hidden = [*OPTIONAL, "jax", "keras"]
    if with_keras:
        hidden.remove("keras")
        if chosen_backend(on_jax) == "jax":
            hidden = ["matplotlib", "pandas"]
    set_log_level()
    with quiet_loading(), imports_only_needed(hidden):
        if with_keras:
            import keras

            if keras.config.backend() != "tensorflow":
                return
        from t2t_keras.training.hardware.devices import prepare_devices

        prepare_devices()


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


def chosen_backend(on_jax):
    """Returns Keras' backend, "tensorflow" or "jax", without importing Keras.

    Args:
        on_jax: whether "jax" is allowed.
    """
    path = settings_path()
    settings = read_settings(path)
    if (floatx := settings.get("floatx", "float32")) != "float32":
        raise ValueError(f"{path}: floatx must be float32. Received: {floatx}")
    variable = os.environ.get("KERAS_BACKEND")
    backend, origin = settings.get("backend", "tensorflow"), str(path)
    if variable:
        backend, origin = variable, "KERAS_BACKEND"
    remedy = f"Set KERAS_BACKEND=tensorflow. Received: {backend}, from {origin}"
    if backend not in ("tensorflow", "jax"):
        raise ValueError(f"Keras' backend must be tensorflow or jax. {remedy}")
    if backend == "jax" and not on_jax:
        raise ValueError(f"needs TensorFlow as Keras' backend. {remedy}")
    if backend == "jax" and importlib.util.find_spec("jax") is None:
        raise ValueError(f"JAX is not installed: pip install jax. Or: {remedy}")
    return backend


def settings_path():
    """Returns the path where Keras looks for its settings file."""
    home = os.path.expanduser("~")  # "~" if there is no home
    folder = os.path.join(home if os.access(home, os.W_OK) else "/tmp", ".keras")
    return os.path.expanduser(os.path.join(os.environ.get("KERAS_HOME", folder), "keras.json"))


def read_settings(path):
    """Returns Keras' settings, a dict. Rejects a damaged file, which Keras would ignore."""
    try:
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
        if not isinstance(settings, dict):
            raise ValueError("not a JSON object")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(
            f"Keras' settings cannot be read. Correct or delete {path}: {error}"
        ) from error
    return settings


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
