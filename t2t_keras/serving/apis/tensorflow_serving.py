"""TensorFlow Serving's REST interface: predictions, status and metadata of models.

See https://www.tensorflow.org/tfx/serving/api_rest.
"""

import functools
import weakref

from aiohttp import web

from t2t_keras.export.signature_names import OPTIONS
from t2t_keras.serving.answering import are_short
from t2t_keras.serving.apis.requests import CONNECTION, body_of
from t2t_keras.serving.apis.routes import HEADER, Route
from t2t_keras.serving.apis.tensorflow_serving_rows import (
    as_json_in,
    compared,
    option,
    query_of,
    rows_in,
    translated,
)
from t2t_keras.serving.apis.tensorflow_serving_signatures import (
    DTYPES,
    FIELDS,
    PAIRS,
    dtype_of,
    metadata_of,
    signatures_of,
)
from t2t_keras.serving.limits import Refusal

MODEL = "/v1/models/{name}"
VERSION = MODEL + "/versions/{version}"
# A row: a text, or the inputs of a signature, such as the fields of `Request`.
ROW = {
    "type": "object",
    "properties": {name: DTYPES[dtype_of(name)][1] for name in FIELDS}
    | dict.fromkeys(("source", "target", "translation"), DTYPES["string"][1]),
}
# The fields of a request: the name of a signature, and either rows or columns.
QUERY = {
    "signature_name": {"type": "string"},
    "instances": {"type": "array", "items": {"anyOf": [{"type": "string"}, ROW]}, "minItems": 1},
    "inputs": {"type": ["array", "object"], "minItems": 1, "minProperties": 1},
}
# Examples of answers.
PREDICTIONS = {"predictions": [{"translations": "Zwei Hunde.", "scores": -0.5}]}
STATE = {"version": "1", "state": "AVAILABLE"}
STATUS = {"model_version_status": [STATE | {"status": {"error_code": "OK", "error_message": ""}}]}
METADATA = {"model_spec": {"name": "en-de"}, "metadata": {"signature_def": {}}}


class TensorFlowServing:
    """Handlers of the routes, given the `Answering`."""

    def __init__(self, answering):
        self.answering, self.limits = answering, answering.limits
        self.known = weakref.WeakKeyDictionary()  # {`ServedModel`: its signatures}

    def routes(self):
        for path, suffix, of in ((MODEL, "", "a model"), (VERSION, "_of_version", "a version")):
            status = "GET", path, self.status, f"Status of {of}", STATUS
            yield Route("status" + suffix, *status, key=HEADER)
            summary = f"Signatures of {of}, with their inputs and outputs"
            metadata = "GET", path + "/metadata", self.metadata, summary, METADATA
            yield Route("metadata" + suffix, *metadata, key=HEADER)
            summary = f"Predictions of {of}, such as translations"
            predict = "POST", path + ":predict", self.predict, summary, PREDICTIONS, QUERY
            yield Route("predict" + suffix, *predict, key=HEADER, computes=True)

    async def status(self, request):
        model, number = self.addressed(request)
        return model.status(number)

    async def metadata(self, request):
        model, number = self.addressed(request)
        version = model.find(number)
        signatures = self.signatures(version.model).items()
        described = {name: metadata_of(each) for name, each in signatures}
        number = str(version.number)
        return {
            "model_spec": {"name": model.name, "signature_name": "", "version": number},
            "metadata": {"signature_def": {"signature_def": described}},
        }

    def signatures(self, model):
        """Returns {name: `Signature`} of a `ServedModel`."""
        if model not in self.known:
            self.known[model] = signatures_of(model)
        return self.known[model]

    async def predict(self, request):
        model, number = self.addressed(request)
        query = query_of(await body_of(request, self.limits))
        with model.find(number).in_use() as version:
            body = await self.predicted(*query, version.model, request[CONNECTION])
            return web.Response(body=body, content_type="application/json")

    async def predicted(self, name, form, values, model, connection):
        """Returns the body of the answer to `query_of` a request to a `ServedModel` in use."""
        signatures = self.signatures(model)
        if name not in signatures:
            raise Refusal(
                404,
                f"Serving signature name: {name[:80]!r} not found in signature def. "
                f"Available: {', '.join(signatures)}",
            )
        inputs, _, width = signatures[name]
        rows = rows_in(form, values, inputs, self.limits)
        is_short = are_short(rows)
        if name in PAIRS:
            method, (source, target) = PAIRS[name]
            sides = [row[source] for row in rows], [row[target] for row in rows]
            results = await self.answering.pairs(method, *sides, model, connection)
            columns = functools.partial(compared, name, model.translator.tokenizer, *results)
            is_short = is_short and name == "score"
        else:
            count = {"n_best": 1 if name == OPTIONS else width or 1}
            rows = [count | {key: option(key, row[key]) for key in row} for row in rows]
            results = await self.answering.translations(rows, model, connection)
            columns = functools.partial(translated, rows, results, width)
        body = functools.partial(as_json_in, form, columns)
        return await self.answering.run(connection.client, is_short, body)

    def addressed(self, request):
        """Returns the `Versions` of the model and the number of the version, or None."""
        number = request.match_info.get("version")
        model = self.answering.models.named(request.match_info["name"])
        return model, None if number is None else int(number)
