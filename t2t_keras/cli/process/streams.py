"""The process of a command from its first moment: its standard streams and Ctrl-C.

All other imports come later, so this file imports next to nothing.
"""

import contextlib
import os
import signal
import sys

# {closed standard stream: mode in which it is opened again}, so that a file opened later does not
# take its descriptor. Input cannot be read, output cannot be written, and messages are dropped.
CLOSED = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}


def begin():
    """Prepares the process. Further calls prepare streams that were replaced in the meantime."""
    for descriptor, mode in CLOSED.items():
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest free number
            os.set_inheritable(descriptor, True)
    if os.path.expanduser("~") == "~":  # the user has no home folder
        os.environ["HOME"] = "/tmp"  # as in Keras. Other libraries would fail or write to "./~"
    use_utf8()
    signal.signal(signal.SIGINT, lambda *_: interrupted())


def use_utf8():
    """Makes text output UTF-8 whatever the locale, and gives standard error its own descriptor.

    So the command's messages do not mix with messages that libraries write to descriptor 2.
    """
    if sys.stdout is not None:
        # File names that are not UTF-8 are written as they are.
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    if sys.stderr is None or sys.stderr.fileno() == 2:
        options = {"buffering": 1, "encoding": "utf-8", "errors": "backslashreplace"}
        sys.stderr = os.fdopen(os.dup(2), "w", **options)


def check_output():
    """Raises `ValueError` if standard output is closed."""
    if sys.stdout is None:
        raise ValueError("standard output is closed. Redirect it to a file or to /dev/null")


def standard_input():
    """Returns standard input as a binary file."""
    if sys.stdin is None:
        raise ValueError("standard input is closed. Redirect it from a file")
    return sys.stdin.buffer


def interrupted(promise=""):
    """Ends the process immediately; every command tolerates being killed.

    A KeyboardInterrupt might be raised in a library's callback that swallows it. The message is
    written without a buffer, because the signal may have interrupted a write to it.

    Args:
        promise: end of the message.
    """
    name = os.path.basename(sys.argv[0])
    command = "t2t" if name == "-m" else name  # Python has not found the module yet
    with contextlib.suppress(OSError):
        message = f"\n{command}: interrupted{promise}\n"
        os.write(sys.stderr.fileno(), message.encode(errors="surrogateescape"))
    os._exit(130)  # 128 + SIGINT, as shells report it
