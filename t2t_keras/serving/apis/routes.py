"""`Route`: a row of the table that makes the server's router and the OpenAPI document."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

JSON = "application/json"
# Forms have the same fields as a JSON object.
FORMS = "application/x-www-form-urlencoded", "multipart/form-data"
INFO = {"title": "t2t-serve", "version": "1.0.0"}  # version of the interfaces together
ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
# Kinds of API keys. HEADER: the key is in a header, and is checked before the request is read.
# FIELD: the key may also be a field of the request.
HEADER, FIELD = "header", "field"
# JSON schemas of values that depend on the models of a server; `document` defines them.
MODEL, SOURCE, TARGET = (
    {"$ref": f"#/components/schemas/{name}"} for name in ("Model", "Source", "Target")
)
# {parameter in paths: its pattern and its schema}
PARAMETERS = {
    "name": ("[^/:]+", MODEL),
    "version": (r"\d{1,18}", {"type": "integer"}),
    "file": ("[^/]+", {"type": "string"}),
}


class Route(NamedTuple):
    """One method of one path."""

    name: str  # unique; also the operationId
    method: str  # "GET", which also answers HEAD, or "POST"
    path: str  # with parameters in braces, as in OpenAPI
    handler: Callable  # coroutine function of aiohttp's request; returns a value or a response
    summary: str
    answer: Any = None  # example of the JSON, or another media type. None: all are errors
    fields: dict = {}  # {field: JSON schema} of the query or of a JSON object in the body
    required: tuple = ()  # names of the required fields
    media: tuple = (JSON,)  # media types of the body
    key: str = ""  # HEADER, FIELD, or "": needs no API key
    computes: bool = False  # if so, pages of other sites may not request it

    @property
    def label(self):
        """The route's label in metrics."""
        return re.sub("_(of_version|by_get)$", "", self.name)


def add_routes(router, routes):
    patterns = {f"{{{name}}}": f"{{{name}:{each}}}" for name, (each, _) in PARAMETERS.items()}
    for route in routes:
        path = re.sub(r"{\w+}", lambda found: patterns[found[0]], route.path)
        add = router.add_get if route.method == "GET" else router.add_post
        add(path, route.handler, name=route.name)


def document(routes, models, targets, needs_key):
    """Returns the OpenAPI document as a dict; for `targets`, see `ServedModels`."""
    paths = {}
    for route in routes:
        described = operation(route, needs_key)
        paths.setdefault(route.path, {})[route.method.lower()] = described
    sources = ["auto", *(language for language in targets if targets[language])]
    components = {"schemas": {"Error": ERROR}}
    for name, values in (("Model", [*models]), ("Source", sources), ("Target", [*targets])):
        components["schemas"][name] = {"type": "string"} | ({"enum": values} if values else {})
    if needs_key:
        components["securitySchemes"] = SCHEMES
    return {"openapi": "3.1.0", "info": INFO, "paths": paths, "components": components}


def operation(route, needs_key):
    """Returns the description of a route."""
    found = {"operationId": route.name, "summary": route.summary}
    if needs_key and route.key == HEADER:
        found["security"] = [{scheme: []} for scheme in SCHEMES]
    found["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": PARAMETERS[name][1]}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.method == "GET":
        found["parameters"] += [
            {"name": name, "in": "query", "required": name in route.required, "schema": schema}
            for name, schema in route.fields.items()
        ]
    elif route.fields:
        body = {"type": "object", "properties": route.fields, "required": [*route.required]}
        content = {media: {"schema": body} for media in route.media}
        found["requestBody"] = {"required": True, "content": content}
    error, example = {"schema": {"$ref": "#/components/schemas/Error"}}, {"example": route.answer}
    found["responses"] = {"default": {"description": "an error", "content": {JSON: error}}}
    if route.answer is not None:
        is_json = not isinstance(route.answer, str)
        content = {JSON: example} if is_json else {route.answer: {"schema": {"type": "string"}}}
        found["responses"]["200"] = {"description": "answer", "content": content}
    return found
