"""The OpenAPI document of a server, made from its table of routes."""

import re

from t2t_keras.serving.apis.routes import HEADER, JSON, MODEL, error_of

VERSION = "3.1.0"
INTERFACE = "1.0.0"  # version of the interfaces together
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}
PARAMETERS = {"name": MODEL, "version": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}}
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def document(routes, models, targets, needs_key):
    """Returns the OpenAPI document as a dict.

    Args:
        routes: `Route`s.
        models: names of the models.
        targets: {language: the languages that it is translated into}.
        needs_key: whether the server requires API keys.
    """
    paths = {}
    for route in routes:
        described = operation(route, needs_key)
        paths.setdefault(route.path, {})[route.method.lower()] = described
    sources = ["auto", *(language for language in targets if targets[language])]
    choices = {"Model": [*models], "Source": sources, "Target": [*targets]}
    schemas = {
        name: {"type": "string"} | ({"enum": each} if each else {})
        for name, each in choices.items()
    }
    components = {"schemas": schemas | {"Error": schema_of(error_of("reason, and what to do"))}}
    if needs_key:
        components["securitySchemes"] = SCHEMES
    return {
        "openapi": VERSION,
        "info": {"title": "t2t-serve", "version": INTERFACE},
        "paths": paths,
        "components": components,
    }


def operation(route, needs_key):
    """Returns the description of a route."""
    found = {"operationId": route.name, "summary": route.summary}
    if needs_key and route.key == HEADER:
        found["security"] = [{scheme: []} for scheme in SCHEMES]
    names = re.findall(r"{(\w+)}", route.path)
    found["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": PARAMETERS[name]} for name in names
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
    error = {"$ref": "#/components/schemas/Error"}
    found["responses"] = {"default": answer("an error", JSON, error)}
    if isinstance(route.answer, str):
        found["responses"]["200"] = answer("answer", route.answer, {"type": "string"})
    elif route.answer is not None:
        schema = schema_of(route.answer) | {"examples": [route.answer]}
        found["responses"]["200"] = answer("answer", JSON, schema)
    return found


def answer(description, media, schema):
    return {"description": description, "content": {media: {"schema": schema}}}


def schema_of(example):
    """Returns the JSON schema of values like an example, in which None stands for any value.

    >>> schema_of([{"code": "en", "others": None}])["items"]["required"]
    ['code']
    """
    if example is None:
        return {}
    if isinstance(example, list):
        return {"type": "array", "items": schema_of(example[0] if example else None)}
    if isinstance(example, dict):
        properties = {name: schema_of(value) for name, value in example.items()}
        required = [name for name, value in example.items() if value is not None]
        return {"type": "object", "properties": properties, "required": required}
    return {"type": TYPES[type(example)]}
