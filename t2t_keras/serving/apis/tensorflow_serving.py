"""TensorFlow Serving's REST interface: predictions, status and metadata of models.

See https://www.tensorflow.org/tfx/serving/api_rest.
"""

import functools
import weakref

from aiohttp import web

from t2t_keras.export.signature_names import BEST, LISTS, OPTIONS
from t2t_keras.serving.answering import are_short, refusing
from t2t_keras.serving.apis.middleware import json_response
from t2t_keras.serving.apis.requests import CONNECTION
from t2t_keras.serving.apis.routes import ANY_OBJECT, HEADER, JSON, TEXT, Route, list_of, object_of
from t2t_keras.serving.apis.tensorflow_serving_rows import (
    as_json_in,
    compared,
    options_in,
    query_of,
    rows_in,
    translated,
)
from t2t_keras.serving.apis.tensorflow_serving_signatures import (
    FIELDS,
    PAIRS,
    SCHEMAS,
    dtype_of,
    metadata_of,
    signatures_of,
)
from t2t_keras.serving.limits import Refusal

MODEL = "/v1/models/{name}"
VERSION = MODEL + "/versions/{version}"
SIGNATURE = TEXT | {"description": "name of a signature; GET …/metadata lists them"}
# A row: a text, or the inputs of a signature, such as the fields of `Request`.
ROW = object_of(
    {name: SCHEMAS[dtype_of(name)] for name in FIELDS}
    | dict.fromkeys(("source", "target", "translation"), SCHEMAS["string"]),
    [],
)
ROWS = list_of(
    {"anyOf": [TEXT, ROW]},
    minItems=1,
    description="rows: texts, or objects with the inputs of the signature",
)
COLUMNS = {
    "type": ["array", "object"],
    "minItems": 1,
    "minProperties": 1,
    "description": "columns: texts, or an object with a list for each input",
}
QUERY = object_of({"signature_name": SIGNATURE, "instances": ROWS, "inputs": COLUMNS}, []) | {
    "oneOf": [{"required": ["instances"]}, {"required": ["inputs"]}]
}
PREDICTIONS = object_of({"predictions": {}, "outputs": {}}, [])
STATUS = object_of(
    {
        "model_version_status": list_of(
            object_of(
                {
                    "version": TEXT,
                    "state": {"enum": ["LOADING", "AVAILABLE", "UNLOADING", "END"]},
                    "status": object_of({"error_code": TEXT, "error_message": TEXT}),
                }
            )
        )
    }
)
METADATA = object_of({"model_spec": ANY_OBJECT, "metadata": ANY_OBJECT})


class TensorFlowServing:
    """Handlers of the routes.

    Args:
        answering: the `Answering`.
    """

    def __init__(self, answering):
        self.answering, self.requests = answering, answering.requests
        self.known = weakref.WeakKeyDictionary()  # {`ServedModel`: its signatures}

    def routes(self):
        for path, suffix, of in ((MODEL, "", "a model"), (VERSION, "_of_version", "a version")):
            yield Route(
                "status" + suffix,
                "GET",
                path,
                self.status,
                f"Status of {of}",
                {200: STATUS},
                key=HEADER,
            )
            yield Route(
                "metadata" + suffix,
                "GET",
                path + "/metadata",
                self.metadata,
                f"Signatures of {of}, with their inputs and outputs",
                {200: METADATA},
                key=HEADER,
            )
            yield Route(
                "predict" + suffix,
                "POST",
                path + ":predict",
                self.predict,
                f"Predictions of {of}, such as translations",
                {200: PREDICTIONS},
                {JSON: QUERY},
                key=HEADER,
                computes=True,
            )
            yield Route(
                "unsupported" + suffix,
                "POST",
                path + ":{verb}",
                self.refuse_verb,
                "",
                key=HEADER,
                documented=False,
            )

    async def status(self, request):
        model, number = self.addressed(request)
        return json_response(model.status(number))

    async def metadata(self, request):
        model, number = self.addressed(request)
        version = model.find(number)
        signatures = self.signatures(version.model).items()
        described = {name: metadata_of(each) for name, each in signatures}
        number = str(version.number)
        return json_response(
            {
                "model_spec": {"name": model.name, "signature_name": "", "version": number},
                "metadata": {"signature_def": {"signature_def": described}},
            }
        )

    def signatures(self, model):
        """Returns {name: `Signature`} of a `ServedModel`."""
        if model not in self.known:
            self.known[model] = signatures_of(model)
        return self.known[model]

    async def predict(self, request):
        model, number = self.addressed(request)
        query = query_of(await self.requests.body(request))
        with self.requests.computing(), model.find(number).in_use() as version:
            body = await self.predicted(*query, version.model, request[CONNECTION])
            return web.Response(body=body, content_type="application/json")

    async def predicted(self, name, form, values, model, connection):
        """Returns the body of an answer.

        Args:
            name, form, values: see `query_of`.
            model: the `ServedModel` of a version that is in use.
            connection: the `Connection` of the request.
        """
        signatures = self.signatures(model)
        if name not in signatures:
            raise Refusal(
                404,
                f"Serving signature name: {name[:80]!r} not found in signature def. "
                f"Available: {', '.join(signatures)}",
            )
        rows = rows_in(form, values, signatures[name].inputs, self.requests.limits)
        is_short = are_short(rows)
        if name in PAIRS:
            method, inputs = PAIRS[name]
            sides = ([row[each] for row in rows] for each in inputs)
            results = await self.answering.pairs(method, *sides, model, connection)
            columns = functools.partial(compared, name, model.translator.tokenizer, *results)
            is_short = is_short and name == "score"
        else:
            width = {BEST: None, LISTS: model.engine.most, OPTIONS: model.engine.config.beam}[name]
            count = 1 if name == OPTIONS else width or 1
            with refusing():
                rows = options_in(rows, count, model.engine.config)
            results = await self.answering.translations(rows, model, connection)
            columns = functools.partial(translated, rows, results, width)
        body = functools.partial(as_json_in, form, columns)
        return await self.answering.run(connection.client, is_short, body)

    async def refuse_verb(self, request):
        self.addressed(request)
        raise Refusal(
            400,
            f"{request.match_info['verb']!r} is not supported: the signatures take and return "
            "tensors. Use ':predict'",
        )

    def addressed(self, request):
        """Returns the `Versions` of the model and the number of the version, or None."""
        number = request.match_info.get("version")
        model = self.answering.models.named(request.match_info["name"])
        return model, None if number is None else int(number)
