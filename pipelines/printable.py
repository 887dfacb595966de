"""Text from files, names and messages, safe to print to a terminal."""

import re

HARMFUL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text):
    r"""Escapes line breaks, control characters and changes of direction.

    >>> print(printable("a\x1b[2J\n"))
    a\x1b[2J\n
    """
    return HARMFUL.sub(lambda found: repr(found[0])[1:-1], text)
