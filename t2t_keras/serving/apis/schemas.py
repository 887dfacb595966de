"""JSON schemas of requests and answers, for the OpenAPI document."""

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


ERROR = object_of({"error": {"type": "string", "description": "reason, and what to do"}})
