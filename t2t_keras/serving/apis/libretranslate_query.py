"""The fields of a request for a translation, checked as LibreTranslate checks them."""

import re
from typing import NamedTuple

from t2t_keras.serving.apis.json_values import check_rows, check_unicode
from t2t_keras.serving.limits import Refusal

AUTO, HTML = "auto", "html"
FORMATS = ("text", HTML)
DIGITS = "^-?[0-9]{1,4000}$"  # number of alternatives in a form


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
    for name in ("q", "source", "target"):
        if not values.get(name):
            raise Refusal(400, f"Invalid request: missing {name} parameter")
    texts, is_list = texts_in(values, limits)
    source, target, kind = values["source"], values["target"], values.get("format") or FORMATS[0]
    for name, value in {"source": source, "target": target, "format": kind}.items():
        check_string(name, value)
    if kind not in FORMATS:
        raise Refusal(400, f"{kind[:80]} format is not supported")
    options = {
        "markup": HTML if kind == HTML else None,
        "n_best": 1 + count_in(values.get("alternatives", 0)),
        "glossary": terms_in(values),
    }
    return Query(texts, is_list, None if source == AUTO else source, target, options)


def terms_in(values):
    """Returns the glossary in a request: the text of a glossary's file, a dict, or None."""
    given = values.get("glossary")
    if given in (None, ""):
        return None
    texts = [*given, *given.values()] if isinstance(given, dict) else [given]
    for text in texts:
        check_string("glossary", text)
    return given


def texts_in(values, limits):
    """Returns the list of texts in the field "q", and whether the field is a list."""
    given = values.get("q")
    if not given:
        raise Refusal(400, "Invalid request: missing q parameter")
    texts = given if isinstance(given, list) else [given]
    check_rows(texts, limits)
    for text in texts:
        if not isinstance(text, str):
            raise Refusal(
                400, "Invalid request: q parameter is neither a string nor a list of them"
            )
        check_unicode("q", text)
    return texts, texts is given


def check_string(name, value):
    if not isinstance(value, str):
        raise Refusal(400, f"Invalid request: {name} parameter is not a string")
    check_unicode(name, value)


def count_in(value):
    """Returns the requested number of alternatives, which may be a string of digits."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0
    if value is None or is_number or (isinstance(value, str) and re.fullmatch(DIGITS, value)):
        return max(0, int(value or 0))
    raise Refusal(400, "Invalid request: alternatives parameter is not a number")
