"""Text from files, names and messages, safe to print to a terminal and short enough for it."""

import re

HARMFUL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text):
    r"""Escapes line breaks, control characters and changes of direction.

    >>> print(printable("a\x1b[2J\n"))
    a\x1b[2J\n
    """
    return HARMFUL.sub(lambda found: repr(found[0])[1:-1], text)


def shortened(text, longest):
    """Returns at most `longest` characters of a text, followed by "…" if it has more."""
    return text if len(text) <= longest else text[:longest] + "…"


def shown(line, longest=60):
    """Returns a line in bytes as a quoted string for messages, shortened."""
    return repr(shortened(line.decode("utf-8", "replace").rstrip(), longest))
