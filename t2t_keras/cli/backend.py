"""Loading Keras and TensorFlow without the lines that they print while they load.

TensorFlow's C++ libraries write to file descriptor 2 before any Python setting reaches them.
"""

import contextlib
import os
import signal
import sys
import tempfile

from absl import flags


def load_backend():
    """Imports Keras and its backend, and finds the devices, before a command's work begins.

    The lines that this prints are dropped, unless it fails or --verbosity is 1 or higher.
    """
    show = flags.FLAGS["verbosity"].value >= 1
    if not show:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # no INFO lines after loading, either
    with contextlib.nullcontext() if show else standard_error_held():
        import keras

        if keras.config.backend() == "tensorflow":
            import tensorflow as tf

            tf.config.list_physical_devices()


@contextlib.contextmanager
def standard_error_held():
    """Keeps everything written to standard error, and prints it only if the block fails.

    An exception fails the block, and so does the death of the process, for example of an illegal
    instruction. Then a forked child prints what was kept.
    """
    sys.stderr.flush()
    original = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        watcher = Watcher(kept.fileno(), original)
        os.dup2(kept.fileno(), 2)
        failed = True
        try:
            with interrupts_reported_to(watcher):
                yield
            failed = False
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)
            watcher.end(show=failed)


class Watcher:
    """A child process that prints a file when its parent ends the block, or dies in it.

    Args:
        kept: descriptor of the file.
        output: descriptor to print it to.
    """

    def __init__(self, kept, output):
        receiver, self.sender = os.pipe()
        self.child = os.fork()
        if self.child:
            os.close(receiver)
            return
        os.close(self.sender)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        if os.read(receiver, 1) != b"q":  # nothing, if the parent died
            length = os.fstat(kept).st_size
            os.write(output, os.pread(kept, length, 0))
        os._exit(0)

    def end(self, show):
        os.write(self.sender, b"s" if show else b"q")
        os.close(self.sender)
        os.waitpid(self.child, 0)


@contextlib.contextmanager
def interrupts_reported_to(watcher):
    """Ctrl-C is the user's wish and no failure: nothing is printed for it."""
    handler = signal.getsignal(signal.SIGINT)

    def interrupted(number, frame):
        os.write(watcher.sender, b"q")
        signal.signal(number, handler)
        signal.raise_signal(number)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
