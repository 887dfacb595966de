"""The OpenAPI document of a server, made from its table of routes."""

import re

from t2t_keras.serving.apis.routes import ERROR, FIELD, HEADER, MODEL

VERSION = "3.1.0"
INTERFACE = "1.0.0"  # version of the interfaces together
# Statuses of errors, by the kind of request that may get them.
ALWAYS = {
    400: "malformed HTTP",
    403: "a page of a different site sent the request",
    421: "the server is not known by the name in the header Host",
    500: "the server failed",
    503: "loading, stopping, or out of connections or memory; try again",
}
WITH_BODY = {
    400: "the request has a mistake",
    408: "the body did not arrive in time",
    413: "the request, a sentence or the answer is too large",
    429: "too many requests are waiting; try again",
}
WITH_MODEL = {404: "no such model, version or signature"}
WITH_KEY = {
    HEADER: {401: "no valid API key"},
    FIELD: {400: "no API key, or a different mistake", 403: "the API key is not valid"},
}
PARAMETERS = {
    "name": ("name of a model", MODEL),
    "version": ("number of a version", {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}),
}
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
        if route.documented:
            described = operation(route, needs_key)
            paths.setdefault(route.path, {})[route.method.lower()] = described
    schemas = {"Error": ERROR}
    for name, choices in {
        "Model": models,
        "Source": ["auto", *(language for language in targets if targets[language])],
        "Target": targets,
    }.items():
        schemas[name] = {"type": "string"} | ({"enum": [*choices]} if choices else {})
    components = {"schemas": schemas}
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
    parameters = [path_parameter(name) for name in names]
    parameters += [
        {"name": name, "in": "query", "required": name in route.required, "schema": schema}
        for name, schema in route.query.items()
    ]
    if parameters:
        found["parameters"] = parameters
    if route.bodies:
        content = {media: {"schema": schema} for media, schema in route.bodies.items()}
        found["requestBody"] = {"required": True, "content": content}
    answers = {status: answer(schema) for status, schema in route.answers.items()}
    errors = ALWAYS | (WITH_BODY if route.computes else {}) | (WITH_MODEL if names else {})
    if needs_key:
        errors |= WITH_KEY.get(route.key, {})
    for status, meaning in errors.items():
        answers.setdefault(status, error_answer(meaning))
    found["responses"] = {str(status): answers[status] for status in sorted(answers)}
    return found


def path_parameter(name):
    description, schema = PARAMETERS[name]
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
    }


def answer(schema):
    """Returns the description of an answer, given its schema, or its media type if it is text."""
    if isinstance(schema, str):
        return {"description": "answer", "content": {schema: {"schema": {"type": "string"}}}}
    return {"description": "answer", "content": {"application/json": {"schema": schema}}}


def error_answer(meaning):
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}
