"""The fields of a request for a translation, checked as LibreTranslate checks them."""

from typing import NamedTuple

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.tensors import check_rows, check_unicode

AUTO, HTML = "auto", "html"
FORMATS = ("text", HTML)


class Query(NamedTuple):
    """The checked fields of a translation."""

    texts: list
    is_list: bool
    source: str
    target: str
    format: str
    alternatives: int


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
    names = {name: values.get(name) or FORMATS[0] for name in ("source", "target", "format")}
    for name, value in names.items():
        if not isinstance(value, str):
            raise Refusal(400, f"Invalid request: {name} parameter is not a string")
        check_unicode(name, value)
    return Query(texts, is_list, **names, alternatives=count_in(values.get("alternatives", 0)))


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


def count_in(value):
    """Returns the requested number of alternatives."""
    try:
        if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
            raise ValueError
        return max(0, int(value or 0))
    except (TypeError, ValueError):
        raise Refusal(400, "Invalid request: alternatives parameter is not a number") from None
