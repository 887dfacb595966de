"""Hides the notes that libraries write while they are loaded, or while they write a model."""

import contextlib
import os
import tempfile
import threading

from absl import logging

LEVEL = "TF_CPP_MIN_LOG_LEVEL"  # 0: nothing is hidden
TURN = threading.RLock()  # descriptor 2 belongs to the whole process


@contextlib.contextmanager
def quiet_loading(explained=()):
    """Returns a context that holds back log messages and everything written to descriptor 2.

    It is shown if the block raises an exception, and dropped otherwise. TensorFlow writes these
    notes before any of its settings takes effect; SentencePiece, LiteRT and the converter for
    LiteRT have no setting for them.

    Args:
        explained: exceptions that say enough, a tuple; nothing is shown after them.
    """
    if os.environ.get(LEVEL) == "0":
        yield
        return
    with TURN, tempfile.TemporaryFile() as held:
        original, verbosity = os.dup(2), logging.get_verbosity()
        logging.set_verbosity(min(verbosity, logging.ERROR))
        os.dup2(held.fileno(), 2)
        try:
            yield
        except Exception as error:
            if not isinstance(error, explained):
                held.seek(0)
                os.write(original, held.read())
            raise
        finally:
            os.dup2(original, 2)
            os.close(original)
            logging.set_verbosity(verbosity)
