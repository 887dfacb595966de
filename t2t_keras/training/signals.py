"""SIGTERM and Ctrl-C during training: the first stops training, the second ends the process."""

import contextlib
import os
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM)
EXIT_CODE = 130


@contextlib.contextmanager
def stopping_on_signals(stop):
    """Calls `stop` at the first signal in the block with a reason such as "SIGTERM was received".

    The second signal ends the process.
    """

    def handle(number, frame):
        for each in SIGNALS:
            signal.signal(each, lambda *_: os._exit(EXIT_CODE))
        stop(f"{signal.Signals(number).name} was received")

    previous = {}
    with contextlib.suppress(ValueError):  # only the main thread can handle signals
        for number in SIGNALS:
            previous[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
