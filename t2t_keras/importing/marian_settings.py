"""The settings of Marian, which are YAML."""

import re

import yaml

from t2t_keras.importing.files.whole_file import reading


class Settings:
    """Settings as text, with a method for each type of value.

    Args:
        text: contents of a YAML file, as bytes.
        origin: name of the file, for error messages.
    """

    def __init__(self, text, origin):
        self.origin = origin
        with reading(origin, "YAML file"):
            values = yaml.load(text.decode(), yaml.BaseLoader)  # makes strings, lists, dicts alone
        self.values = values if isinstance(values, dict) else {}

    def text(self, name, default=""):
        """Returns a setting as a string."""
        value = self.values.get(name, "")
        if not isinstance(value, str):
            raise self.wrong(name, "a single value")
        return default if value in ("", "~", "null") else value

    def flag(self, name):
        value = self.text(name, "false").lower()
        if value not in ("true", "false"):
            raise self.wrong(name, "true or false")
        return value == "true"

    def number(self, name, default=0):
        value = self.text(name, str(default))
        if not re.fullmatch("[0-9]{1,9}", value):
            raise self.wrong(name, "a whole number")
        return int(value)

    def list(self, name):
        """Returns a setting as a list of strings, which is empty if the setting is absent."""
        value = self.values.get(name)
        value = value if isinstance(value, list) else [self.text(name)]
        if not all(isinstance(each, str) for each in value):
            raise self.wrong(name, "a list of single values")
        return [each for each in value if each]

    def numbers(self, name):
        values = self.list(name)
        if not all(re.fullmatch("[0-9]{1,9}", value) for value in values):
            raise self.wrong(name, "a list of whole numbers")
        return [int(value) for value in values]

    def wrong(self, name, allowed):
        value = self.values.get(name)
        received = value if isinstance(value, str) else type(value).__name__
        return ValueError(f"{self.origin}: {name} must be {allowed}. Received: {received!r}")
