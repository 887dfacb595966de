"""Checks of the arguments of layers and functions, with the messages of settings."""

import functools

from pipelines.checks import check, check_value, nearest

__all__ = ["check", "check_boolean", "check_choice", "check_integer", "check_needs", "check_rate"]
__all__ += ["check_not_negative", "check_positive", "check_sequence", "check_value", "nearest"]


def check_integer(name, value, at_least=1):
    """Checks for an int of at least `at_least`; booleans and NumPy integers do not qualify."""
    check_value(name, value, int, at_least=at_least)


check_rate = functools.partial(check_value, kind=float, at_least=0, below=1)
check_positive = functools.partial(check_value, kind=float, above=0)
check_not_negative = functools.partial(check_value, kind=float, at_least=0)
check_boolean = functools.partial(check_value, kind=bool)


def check_choice(name, value, choices):
    """Checks for one of `choices`. The message suggests the nearest one for a misspelled value."""
    check_value(name, value, str, choices)


def check_sequence(name, shape, width=None):
    """Checks the shape of a sequence of vectors, `[batch, length, width]`."""
    if len(shape) != 3 or (width is not None and shape[-1] not in (None, width)):
        raise ValueError(
            f"`{name}` must have the shape [batch, length, {width or 'width'}]. "
            f"Received: {name} of shape {tuple(shape)}"
        )


def check_needs(config, *needs):
    """Raises `ValueError` for the first setting that is given without what it needs.

    Args:
        config: object with the settings. Each setting has a flag with the same name.
        *needs: triples of whether the need is met, the name of the setting, and what it needs.
    """
    for is_met, name, need in needs:
        if not is_met:
            value = getattr(config, name)
            raise ValueError(f"--{name} needs {need}. Received: --{name}={value} alone")
