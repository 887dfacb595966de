"""The settings of Marian, and a parser for the part of YAML that Marian uses.

A line is `name: value`, where a value is a scalar or a list of scalars. Nested settings become
None, because no importer needs them.
"""

import re

from t2t_keras.importing.marian_vocabulary import unquoted

BOOLEANS = {"true": True, "false": False}


class Settings:
    """Settings as text, with a method for each type of value.

    Args:
        text: lines of YAML.
        origin: name of the file, for error messages.
    """

    def __init__(self, text, origin):
        self.values, self.origin = parsed(text), origin

    def text(self, name, default=""):
        """Returns a setting as a string."""
        value = self.values.get(name)
        if isinstance(value, list):
            raise self.wrong(name, "a single value")
        return default if value is None else value

    def flag(self, name):
        value = self.text(name, "false")
        if value.lower() not in BOOLEANS:
            raise self.wrong(name, "true or false")
        return BOOLEANS[value.lower()]

    def number(self, name, default=0):
        value = self.text(name, str(default))
        if not re.fullmatch("[0-9]{1,9}", value):
            raise self.wrong(name, "a whole number")
        return int(value)

    def list(self, name):
        """Returns a setting as a list of strings, which is empty if the setting is absent."""
        value = self.values.get(name)
        return [] if value is None else value if isinstance(value, list) else [value]

    def numbers(self, name):
        values = self.list(name)
        if not all(re.fullmatch("[0-9]{1,9}", value) for value in values):
            raise self.wrong(name, "a list of whole numbers")
        return [int(value) for value in values]

    def wrong(self, name, allowed):
        return ValueError(
            f"{self.origin}: {name} must be {allowed}. Received: {self.values.get(name)!r}"
        )


def parsed(text):
    """Returns {name: string, list of strings, or None}."""
    values, name = {}, None
    for line in text.split("\n"):
        content = line.strip(" \r")
        if not content or content.startswith("#"):
            continue
        belongs_to_name = line.startswith((" ", "-")) and name is not None
        if not belongs_to_name:
            name, colon, value = content.partition(":")
            name = unquoted(name) if colon else None
            if colon:
                values[name] = value_of(value.strip(" "))
        elif content.startswith("- ") and isinstance(values[name], list | None):
            values[name] = [*(values[name] or []), scalar(content[2:])]
        elif content.startswith("[") and values[name] is None:
            values[name] = value_of(content)
    return values


def value_of(text):
    if text in ("", "~", "null"):
        return None
    if text.startswith("[") and text.endswith("]"):
        return [scalar(item) for item in text[1:-1].split(",") if item.strip()]
    return scalar(text)


def scalar(text):
    if not text.startswith(("'", '"')):
        text = re.split(r"\s#", text)[0]
    return unquoted(text)
