"""Checks of settings with uniform messages.

Every message names the setting, the allowed values and the value received. Settings are checked
when a layer or a config is created.
"""

import difflib
import numbers


def check(condition, name, value, allowed):
    """Raises `ValueError` unless `condition` holds for the setting `name`."""
    if not condition:
        raise ValueError(f"`{name}` must be {allowed}. Received: {name}={value!r}")


def check_integer(name, value, at_least=1):
    """Checks for an int of at least `at_least`; booleans and NumPy integers do not qualify."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    check(whole and value >= at_least, name, value, f"a whole number of at least {at_least}")


def check_rate(name, value):
    """Checks for a number in [0, 1), such as a dropout rate or a label smoothing."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    check(number and 0 <= value < 1, name, value, "a number of at least 0 and below 1")


def check_positive(name, value):
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    check(number and 0 < value < float("inf"), name, value, "a positive number")


def check_not_negative(name, value):
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    check(number and 0 <= value < float("inf"), name, value, "a number of at least 0")


def check_boolean(name, value):
    check(isinstance(value, bool), name, value, "True or False")


def check_sequence(name, shape, width=None):
    """Checks the shape of a sequence of vectors, `[batch, length, width]`."""
    if len(shape) != 3 or (width is not None and shape[-1] not in (None, width)):
        raise ValueError(
            f"`{name}` must have the shape [batch, length, {width or 'width'}]. "
            f"Received: {name} of shape {tuple(shape)}"
        )


def check_choice(name, value, choices):
    """Checks for one of `choices`. The message suggests the nearest one for a misspelled value."""
    if value in choices:
        return
    allowed = "one of " + ", ".join(repr(choice) for choice in choices)
    if isinstance(value, str):
        allowed += nearest(value, choices)
    check(False, name, value, allowed)


def nearest(name, names):
    """Returns ' (did you mean ...?)' with the closest of `names`, or '' if none is close."""
    close = difflib.get_close_matches(name.lower(), list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
