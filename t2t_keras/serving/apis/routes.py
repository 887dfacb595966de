"""`Route`: a row of the only table of routes, and the JSON schemas of requests and answers.

The HTTP server's router and the OpenAPI document are made from the same rows, so the document
cannot differ from the server.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

# Patterns of the parameters in paths.
PATTERNS = {"name": "[^/:]+", "version": r"\d{1,18}", "verb": "classify|regress"}
JSON, FORM, MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)
# Kinds of API keys. HEADER: the key is in a header, and is checked before the request is read.
# FIELD: the key may also be a field of the request.
HEADER, FIELD = "header", "field"


TEXT = {"type": "string"}
# Schemas that depend on the models of a server; `openapi.py` defines them.
MODEL, SOURCE, TARGET = (
    {"$ref": f"#/components/schemas/{name}"} for name in ("Model", "Source", "Target")
)
ANY_OBJECT = {"type": "object"}


def object_of(properties, required=None):
    """Returns the schema of an object.

    Args:
        properties: {name: schema}.
        required: names of the required properties. None: all.
    """
    required = list(properties if required is None else required)
    return {"type": "object", "properties": properties} | (
        {"required": required} if required else {}
    )


def list_of(items, **limits):
    return {"type": "array", "items": items, **limits}


def error_of(message):
    return {"error": message}


ERROR = object_of({"error": {"type": "string", "description": "reason, and what to do"}})


class Route(NamedTuple):
    """One method of one path."""

    name: str  # unique; also the operationId
    method: str  # "GET", which also answers HEAD, or "POST"
    path: str  # with parameters in braces, as in OpenAPI
    handler: Callable  # coroutine function that takes aiohttp's request and returns the response
    summary: str
    answers: dict = {}  # {status: schema of the JSON, or the media type of other answers}
    bodies: dict = {}  # {media type: schema of the request's body}
    query: dict = {}  # {parameter in the query: schema}
    required: tuple = ()  # required parameters in the query
    key: str = ""  # HEADER, FIELD, or "": needs no API key
    computes: bool = False  # whether it computes, so that pages of other sites may not request it
    documented: bool = True
    error: Callable = error_of  # function of a message that returns the JSON value of an error

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
