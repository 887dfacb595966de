"""Colors of the log, on terminals only.

https://no-color.org and https://force-color.org define the environment variables.
"""

import os

CODES = {"quiet": "2", "title": "1", "good": "1;32"}  # parameters of the escape sequence


class Colors:
    """Colors text for a stream, or leaves it as it is.

    NO_COLOR turns colors off, and FORCE_COLOR turns them on where the output is not a terminal.
    If both are set, NO_COLOR wins.

    Args:
        stream: the stream that the text is written to.
        environment: the environment variables. None: those of this process.
    """

    def __init__(self, stream, environment=None):
        environment = os.environ if environment is None else environment
        if environment.get("NO_COLOR"):
            self.are_on = False
        elif environment.get("FORCE_COLOR", "0") not in ("", "0"):
            self.are_on = True
        else:
            self.are_on = stream.isatty() and environment.get("TERM") != "dumb"

    def paint(self, kind, text):
        """Returns the text with the escape sequences of a kind in `CODES`."""
        return f"\x1b[{CODES[kind]}m{text}\x1b[0m" if self.are_on and text else text
