"""Settings of another system's model. Values that are not imported are refused by name."""


def require(place, name, value, allowed):
    """Raises `ValueError` if a setting of a file or folder has no value of the paper's model."""
    if value not in allowed:
        raise ValueError(
            f"{place} has {name}={value!r}. Models are imported with: "
            f"{', '.join(str(each) for each in allowed if each != '')}"
        )


def same_in_both(place, name, values):
    """Returns the value that a setting has in encoder and decoder, which must be the same."""
    encoder, decoder = values
    if encoder != decoder:
        raise ValueError(
            f"{place}: encoder and decoder must have the same {name}. Received: {encoder} and "
            f"{decoder}"
        )
    return encoder


class Settings:
    """The settings in a file.

    Args:
        values: {name: value}. None stands for an absent value.
        origin: the file, for error messages.
    """

    def __init__(self, values, origin):
        self.values, self.origin = values, origin

    def get(self, name, default=None):
        value = self.values.get(name)
        return default if value is None else value

    def checked(self, check, name, default=None, **allowed):
        """Returns a setting after checking it with the function `check`."""
        value = self.get(name, default)
        try:
            check(name, value, **allowed)
        except ValueError as error:
            raise ValueError(f"{self.origin}: {error}") from error
        return value
