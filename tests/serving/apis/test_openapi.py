"""The OpenAPI document lists the routes of the server, and nothing else."""

import json
import re

from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import get

from t2t_keras.translating.request import FIELDS


def test_the_document_describes_each_route_and_refers_only_to_what_it_defines():
    with serving(en_de=EchoEngine(), de_en=EchoEngine()) as address:
        status, document = get(address, "openapi.json")
        assert status == 200 and document["openapi"].startswith("3.")
        operations = {
            (method.upper(), path): operation
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }
        for (method, path), operation in operations.items():
            path = path.format(name="en-de", version=1, file="none")
            code, _ = get(address, path.lstrip("/"), method)
            assert code >= 400 or str(code) in operation["responses"], (path, code)
            assert get(address, path.lstrip("/"), "DELETE")[0] == 405
    body = operations["POST", "/v1/models/{name}:predict"]["requestBody"]["content"]
    rows = body["application/json"]["schema"]["properties"]["instances"]
    row = rows["items"]["anyOf"][1]["properties"]
    assert row.keys() > set(FIELDS) and row["beam"] == {"type": "integer"}
    schemas = document["components"]["schemas"]
    assert schemas["Source"]["enum"] == ["auto", "en", "de"]
    assert schemas["Model"]["enum"] == ["en-de", "de-en"]
    for name in re.findall(r"#/components/schemas/(\w+)", json.dumps(document)):
        assert name in schemas
    assert {path for _, path in operations} >= {"/translate", "/v1/models/{name}:predict", "/"}
    names = [operation["operationId"] for operation in operations.values()]
    assert len(names) == len(set(names))
