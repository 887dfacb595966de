"""Errors that concern one of several texts, so that a caller can say which one."""

import contextlib


class TextError(ValueError):
    """A mistake in one of several texts.

    Args:
        index: index of the text.
        message: the error.
    """

    def __init__(self, index, message):
        super().__init__(message)
        self.index = index


@contextlib.contextmanager
def in_text(index):
    """Turns a `ValueError` into a `TextError` with this index."""
    try:
        yield
    except ValueError as error:
        raise TextError(index, str(error)) from error
