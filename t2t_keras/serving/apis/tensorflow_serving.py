"""TensorFlow Serving's REST interface: predictions, status and metadata of models.

See https://www.tensorflow.org/tfx/serving/api_rest.
"""

from aiohttp import web

from t2t_keras.serving.apis.middleware import json_response
from t2t_keras.serving.apis.requests import CONNECTION, check_connection
from t2t_keras.serving.apis.routes import HEADER, JSON, Route
from t2t_keras.serving.apis.schemas import ANY_OBJECT, TEXT, list_of, object_of
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.rest import query_of

MODEL = "/v1/models/{name}"
VERSION = MODEL + "/versions/{version}"
SIGNATURE = TEXT | {"description": "name of a signature; GET …/metadata lists them"}
ROWS = list_of(
    {"type": ["string", "object", "array"]},
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
    "oneOf": [{"required": ["instances"]}, {"required": ["inputs"]}],
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
        models: the `ServedModels`.
        predictor: the `Predictor`.
        requests: the `Requests`.
    """

    def __init__(self, models, predictor, requests):
        self.models, self.predictor, self.requests = models, predictor, requests

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
        return json_response(
            {
                "model_spec": {
                    "name": model.name,
                    "signature_name": "",
                    "version": str(version.number),
                },
                "metadata": {"signature_def": {"signature_def": version.model.metadata}},
            }
        )

    async def predict(self, request):
        model, number = self.addressed(request)
        check_connection(request)
        query = query_of(await self.requests.body(request))
        with self.requests.computing(), model.find(number).in_use() as version:
            body = await self.predictor(query, version, request[CONNECTION])
            return web.Response(body=body, content_type="application/json")

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
        model = self.models.named(request.match_info["name"])
        return model, None if number is None else int(number)
