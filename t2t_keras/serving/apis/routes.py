"""`Route`: a row of the only table of routes.

The HTTP server's router and the OpenAPI document are made from the same rows, so the document
cannot differ from the server.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

# Patterns of the parameters in paths.
PATTERNS = {"name": "[^/:]+", "version": r"\d{1,18}"}
JSON = "application/json"
# The fields of these are those of a JSON object.
FORMS = "application/x-www-form-urlencoded", "multipart/form-data"
# Kinds of API keys. HEADER: the key is in a header, and is checked before the request is read.
# FIELD: the key may also be a field of the request.
HEADER, FIELD = "header", "field"
# JSON schemas of values that depend on the models of a server; `openapi.py` defines them.
MODEL, SOURCE, TARGET = (
    {"$ref": f"#/components/schemas/{name}"} for name in ("Model", "Source", "Target")
)


def error_of(message):
    return {"error": message}


class Route(NamedTuple):
    """One method of one path.

    Args:
        name: unique name, which is also the operationId.
        method: "GET", which also answers HEAD, or "POST".
        path: path with parameters in braces, as in OpenAPI.
        handler: coroutine function that takes aiohttp's request and returns the response.
        summary: description.
        answer: an example of the JSON in an answer, or the media type of other answers. None: all
            answers are errors.
        fields: {field: JSON schema} of the query or of a JSON object in the body.
        required: names of the required fields.
        media: media types of the body.
        key: HEADER, FIELD, or "": needs no API key.
        computes: whether it computes, so that pages of other sites may not request it.
        error: function of a message that returns the JSON value of an error.
    """

    name: str
    method: str
    path: str
    handler: Callable
    summary: str
    answer: Any = None
    fields: dict = {}
    required: tuple = ()
    media: tuple = (JSON,)
    key: str = ""
    computes: bool = False
    error: Callable = error_of

    @property
    def label(self):
        """The route's label in metrics."""
        return re.sub("_(of_version|by_get)$", "", self.name)


def add_routes(router, routes):
    """Adds routes to aiohttp's router."""
    for route in routes:
        path = re.sub(r"{(\w+)}", lambda found: f"{{{found[1]}:{PATTERNS[found[1]]}}}", route.path)
        add = router.add_get if route.method == "GET" else router.add_post
        add(path, route.handler, name=route.name)
