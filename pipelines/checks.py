"""How a wrong setting is reported here: by its name, with what is allowed and what was given."""


def check_whole_number(name, value, at_least=1):
    """Raises `ValueError` unless the setting is an int of at least `at_least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise ValueError(
            f"`{name}` must be a whole number of at least {at_least}. Received: {name}={value!r}"
        )
