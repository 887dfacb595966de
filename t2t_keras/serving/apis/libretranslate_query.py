"""The fields of a request for a translation, checked as LibreTranslate checks them."""

import re
from typing import NamedTuple

from t2t_keras.serving.apis.json_values import check_rows
from t2t_keras.serving.apis.routes import SOURCE, TARGET
from t2t_keras.serving.limits import Refusal

AUTO, HTML = "auto", "html"
FORMATS = ("text", HTML)
DIGITS = "^-?[0-9]{1,4000}$"  # number of alternatives in a form
REQUIRED = ("q", "source", "target")
# {field: its JSON schema}. In forms and in the query, all values are strings.
FIELDS = {
    "q": {
        "description": "text to translate; in JSON also a list of texts",
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ],
    },
    "source": SOURCE,
    "target": TARGET,
    "format": {"enum": [*FORMATS, "", None], "default": FORMATS[0]},
    "alternatives": {
        "description": "number of further translations",
        "type": ["integer", "string", "null"],
        "pattern": DIGITS,
        "default": 0,
    },
    "glossary": {
        "description": "lines of a source phrase, a tab and a target phrase, or in JSON "
        "{phrase: translation}; an addition to the API",
        "type": ["string", "object", "null"],
        "additionalProperties": {"type": "string"},
    },
    "api_key": {
        "description": "API key, if the server requires one",
        "type": ["string", "null"],
    },
}


class Query(NamedTuple):
    """The checked fields of a translation. A source of None is to be detected."""

    texts: list
    is_list: bool
    source: str | None
    target: str
    options: dict  # {field of `Request`: value}


def query_of(values, limits):
    """Returns the `Query` of a request.

    Args:
        values: {field: value}; the values are strings or from JSON.
        limits: `Limits`.
    """
    for name in REQUIRED:
        if not values.get(name):
            raise Refusal(400, f"Invalid request: missing {name} parameter")
    texts, is_list = texts_in(values, limits)
    source, target = (string_in(values, name) for name in ("source", "target"))
    if (kind := string_in(values, "format") or FORMATS[0]) not in FORMATS:
        raise Refusal(400, f"{kind[:80]} format is not supported")
    glossary = values.get("glossary")
    if not isinstance(glossary, dict):
        glossary = string_in(values, "glossary")
    options = {
        "markup": HTML if kind == HTML else None,
        "n_best": 1 + count_in(values.get("alternatives", 0)),
        "glossary": glossary or None,
    }
    return Query(texts, is_list, None if source == AUTO else source, target, options)


def texts_in(values, limits):
    """Returns the list of texts in the field "q", and whether the field is a list."""
    given = values.get("q")
    if not given:
        raise Refusal(400, "Invalid request: missing q parameter")
    texts = given if isinstance(given, list) else [given]
    check_rows(texts, limits)
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "Invalid request: q parameter is neither a string nor a list of them")
    return texts, texts is given


def string_in(values, name):
    """Returns the string in a field; "" if it is missing or null."""
    value = values.get(name)
    if not isinstance(value, str | None):
        raise Refusal(400, f"Invalid request: {name} parameter is not a string")
    return value or ""


def count_in(value):
    """Returns the requested number of alternatives, which may be a string of digits."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0
    if value is None or is_number or (isinstance(value, str) and re.fullmatch(DIGITS, value)):
        return max(0, int(value or 0))
    raise Refusal(400, "Invalid request: alternatives parameter is not a number")
