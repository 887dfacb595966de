"""Loads Keras and TensorFlow without showing the messages that they print while loading.

TensorFlow's C++ libraries write to file descriptor 2 before any Python setting takes effect.
"""

import contextlib
import gc
import os
import signal
import sys
import tempfile
from pathlib import Path

from absl import flags

# TensorFlow and Keras import these packages if they are installed, but do not require them. No
# command uses the parts that need them.
OPTIONAL = ("matplotlib", "pandas", "scipy")


def load_backend(with_keras=True):
    """Imports Keras and its backend, and finds the devices.

    Messages are dropped unless loading fails or --verbosity is at least 1.

    Args:
        with_keras: False: import TensorFlow alone, which would load Keras if it found it.
    """
    show = flags.FLAGS["verbosity"].value >= 1
    if not show:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # no INFO lines later, either
    hidden = [*OPTIONAL]
    if not (with_keras and may_use_jax()):
        hidden.append("jax")
    if not with_keras:
        hidden.append("keras")
    with contextlib.nullcontext() if show else standard_error_held(), imports_only_needed(hidden):
        if with_keras:
            import keras

            if keras.config.backend() != "tensorflow":
                return
        import tensorflow as tf

        tf.config.list_physical_devices()


def may_use_jax():
    """Returns whether JAX may be Keras' backend, which is known before Keras is imported."""
    if backend := os.environ.get("KERAS_BACKEND"):
        return backend == "jax"
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        return "jax" in (home / "keras.json").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def imports_only_needed(hidden):
    """Makes imports faster: without packages that look as if they were not installed.

    The garbage collector waits, too. Later it skips the objects that the imports created.
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


@contextlib.contextmanager
def standard_error_held():
    """Holds back everything written to standard error, and prints it only if the block fails.

    The block fails if it raises an exception or if the process dies, for example from an illegal
    instruction. A forked child then prints the text.
    """
    sys.stderr.flush()
    original = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        watcher = Watcher(kept.fileno(), original)
        os.dup2(kept.fileno(), 2)
        failed = True
        try:
            with interrupts_shown(watcher, original):
                yield
            failed = False
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)
            watcher.end(show=failed)


class Watcher:
    """A child process that prints a file if its parent asks for it or dies.

    Args:
        kept: descriptor of the file.
        output: descriptor to print the file to.
    """

    def __init__(self, kept, output):
        receiver, self.sender = os.pipe()
        self.child = os.fork()
        if self.child:
            os.close(receiver)
            return
        os.close(self.sender)
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, signal.SIG_IGN)
        if os.read(receiver, 1) != b"q":  # reads b"" if the parent died
            length = os.fstat(kept).st_size
            os.write(output, os.pread(kept, length, 0))
        os._exit(0)

    def end(self, show):
        """Ends the child. Further calls have no effect."""
        if self.sender is not None:
            os.write(self.sender, b"s" if show else b"q")
            os.close(self.sender)
            os.waitpid(self.child, 0)
            self.sender = None


@contextlib.contextmanager
def interrupts_shown(watcher, original):
    """On Ctrl-C, drops what was held back and shows the message of the signal's handler."""
    handler = signal.getsignal(signal.SIGINT)

    def interrupted(signum, frame):
        watcher.end(show=False)
        os.dup2(original, 2)
        signal.signal(signum, handler)
        signal.raise_signal(signum)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
