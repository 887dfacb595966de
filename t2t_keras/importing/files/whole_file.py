"""One error for every file of another system that cannot be read."""

import contextlib


@contextlib.contextmanager
def reading(path, kind, advice="Download or copy it again"):
    """Turns any error in the block into a `ValueError` that names the file and says what to do.

    Args:
        path: path of the file.
        kind: a whole file of this kind was expected, such as "JSON file".
        advice: the last sentence of the message.
    """
    try:
        yield
    except Exception as error:  # libraries raise errors of any type for damaged files
        reason = " ".join(f"{error!s:.300}".split()) or type(error).__name__
        raise ValueError(f"{path} is not a whole {kind}: {reason}. {advice}") from error


def are_sizes(numbers):
    """Returns whether all numbers are integers that are valid as sizes and offsets."""
    return all(type(number) is int and 0 <= number < 2**63 for number in numbers)
