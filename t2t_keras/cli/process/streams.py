"""The process of a command from its first moment: its standard streams and Ctrl-C.

All other imports come later, so this file imports next to nothing.
"""

import contextlib
import os
import signal
import sys


def begin():
    """Prepares the process. Further calls prepare streams that were replaced in the meantime.

    Text output becomes UTF-8 whatever the locale. Standard error gets its own descriptor, so the
    command's messages do not mix with messages that libraries write to descriptor 2.
    """
    if os.path.expanduser("~") == "~":  # the user has no home folder
        os.environ["HOME"] = "/tmp"  # as in Keras. Other libraries would fail or write to "./~"
    # File names that are not UTF-8 are written as they are.
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    if sys.stderr.fileno() == 2:
        options = {"buffering": 1, "encoding": "utf-8", "errors": "backslashreplace"}
        sys.stderr = os.fdopen(os.dup(2), "w", **options)
    signal.signal(signal.SIGINT, lambda *_: interrupted())


def interrupted(promise=""):
    """Ends the process immediately; every command tolerates being killed.

    A KeyboardInterrupt might be raised in a library's callback that swallows it. The message is
    written without a buffer, because the signal may have interrupted a write to it. The promise
    ends it.
    """
    name = os.path.basename(sys.argv[0])
    command = "t2t" if name == "-m" else name  # Python has not found the module yet
    with contextlib.suppress(OSError):
        message = f"\n{command}: interrupted{promise}\n"
        os.write(sys.stderr.fileno(), message.encode(errors="surrogateescape"))
    os._exit(130)  # 128 + SIGINT, as shells report it
