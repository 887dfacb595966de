"""TensorFlow Serving's REST interface: predictions, status and metadata of models.

A request has rows ("instances") or columns ("inputs"), and its answer has the same form. See
https://www.tensorflow.org/tfx/serving/api_rest.
"""

import base64
import functools

import numpy as np
from aiohttp import web

from t2t_keras.checks import nearest
from t2t_keras.decoding.batches import stacked
from t2t_keras.decoding.rows import PADDING
from t2t_keras.export.signature_names import BEST, NO_SCORE, OPTIONS
from t2t_keras.serving.answering import are_short
from t2t_keras.serving.apis.bodies import CONNECTION, as_json, body_of, check_rows, parsed_json
from t2t_keras.serving.apis.routes import HEADER, Route
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

ROWS, COLUMNS = "instances", "inputs"
ANSWERS = {ROWS: "predictions", COLUMNS: "outputs"}
BASE64 = "b64"
SHAPES = {
    ROWS: "a list of one row or more",
    COLUMNS: "a list, or an object with a list for each input, of one row or more and equally long",
}


class TensorFlowServing:
    """Handlers of the routes, given the `Answering`."""

    def __init__(self, answering):
        self.answering, self.limits = answering, answering.limits

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
        signatures = signatures_of(version.model).items()
        described = {name: metadata_of(each) for name, each in signatures}
        number = str(version.number)
        return {
            "model_spec": {"name": model.name, "signature_name": "", "version": number},
            "metadata": {"signature_def": {"signature_def": described}},
        }

    async def predict(self, request):
        model, number = self.addressed(request)
        query = query_of(await body_of(request, self.limits))
        with model.find(number).in_use() as version:
            body = await self.predicted(*query, version.model, request[CONNECTION])
            return web.Response(body=body, content_type="application/json")

    async def predicted(self, name, form, values, model, connection):
        """Returns the body of the answer to `query_of` a request to a `ServedModel` in use."""
        signatures = signatures_of(model)
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


def query_of(body):
    """Returns the signature, the form and the values of a request, given its body as bytes."""
    request = parsed_json(body)
    if not isinstance(request, dict):
        raise Refusal(400, f'The body must be a JSON object: {{"{ROWS}": […]}}')
    signature = request.get("signature_name") or BEST
    if not isinstance(signature, str):
        raise Refusal(400, "'signature_name' must be a string")
    forms = [form for form in (ROWS, COLUMNS) if form in request]
    if len(forms) != 1:
        raise Refusal(
            400,
            f"The body must have either {ROWS!r} (rows) or {COLUMNS!r} (columns). "
            f"Received: {'both' if forms else 'neither'}",
        )
    return signature, forms[0], request[forms[0]]


def rows_in(form, values, inputs, limits):
    """Returns {input: value} of each row of a request, with strings decoded and checked.

    `form` is "instances" or "inputs", and `values` the JSON value of that key. For `inputs`, see
    `Signature`.
    """
    required = [name for name, (_, default) in inputs.items() if default is None]
    only = required[0] if len(required) == 1 else None
    if form == COLUMNS and only and not names_inputs(values):
        values = {only: values}
    lists = [values] if form == ROWS else [*values.values()] if isinstance(values, dict) else []
    are_lists = all(isinstance(each, list) and each for each in lists)
    if not (lists and are_lists and len({*map(len, lists)}) == 1):
        raise Refusal(400, f"{form!r} must be {SHAPES[form]}")
    check_rows(values if form == ROWS else lists[0], limits)
    if form == COLUMNS:
        rows = [dict(zip(values, row, strict=True)) for row in zip(*lists, strict=True)]
    elif only and not any(map(names_inputs, values)):
        rows = [{only: value} for value in values]
    else:
        rows = values
    for index, row in enumerate(rows):
        check_names(row, inputs, required, f"Row {index}")
    return [
        {name: checked(name, value, inputs, limits) for name, value in row.items()} for row in rows
    ]


def names_inputs(value):
    """Whether a value is an object {input: value}, not a base64 string."""
    return isinstance(value, dict) and set(value) != {BASE64}


def check_names(value, inputs, required, where):
    """Rejects a row that is not an object with all required inputs and no unknown ones."""
    known = ", ".join(inputs)
    if not isinstance(value, dict):
        raise Refusal(400, f"{where} must be an object with the inputs: {known}")
    for name in value:
        if name not in inputs:
            advice = f"{nearest(name[:80], inputs)}. The inputs are: {known}"
            if name in FIELDS and len(inputs) == 1:
                advice = f'. Options need "signature_name": "{OPTIONS}"'
            raise Refusal(400, f"{where} has an unknown input {name[:80]!r}{advice}")
    missing = [name for name in required if name not in value]
    if missing:
        raise Refusal(400, f"{where} lacks {', '.join(missing)}. The inputs are: {known}")


def checked(name, value, inputs, limits):
    """Returns the value of an input; a string is a text or base64. `Request` checks it further."""
    dtype = wanted = inputs[name][0]
    if dtype == "string":
        wanted = f'a string, or {{"{BASE64}": "…"}} for bytes'
        if isinstance(value, dict) and isinstance(value.get(BASE64), str):
            value = decoded(name, value[BASE64])
    if not isinstance(value, {"string": str, "bool": bool}.get(dtype, int | float)):
        given = as_json(value).decode()[:80]
        raise Refusal(400, f"Input {name!r}: each value must be {wanted}. Received: {given}")
    # In texts to translate, each sentence is limited instead.
    is_limited = "text" not in inputs or "translation" in inputs or name not in ("text", "glossary")
    if dtype == "string" and is_limited and len(value.encode()) > limits.max_text_bytes:
        raise Refusal(
            413,
            f"Input {name!r}: a text has {len(value.encode()):,} bytes; at most "
            f"{limits.max_text_bytes:,} are allowed (--max_text_bytes of the server)",
        )
    return value


def decoded(name, value):
    """Returns the text in a base64 string, with or without padding."""
    try:
        data = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        raise Refusal(400, f"Input {name!r}: the value of {BASE64!r} is not valid base64") from None
    return data.decode("utf-8", "replace")


def option(name, value):
    """Returns the value of a field of `Request`, given the value of an input."""
    if name == "split":
        return "auto" if value else "off"
    if name == "require":
        return [each for each in value.split("\t") if each.strip()]
    return value if name in ("text", "prefix") else None if value == "" else value


def translated(rows, results, width):
    """Returns {output: a value for each row} of a signature that translates."""
    count = width or 1

    def values(name, row, found):
        write = OUTPUTS[name] if asks(row, name) else lambda each: ""
        missing = shortest(NO_SCORE) if name == "scores" else ""
        return [write(each) for each in found[:count]] + [missing] * (count - len(found))

    both = [*zip(rows, results, strict=True)]
    names = [name for name in OUTPUTS if any(asks(row, name) for row in rows)]
    columns = {name: [values(name, *each) for each in both] for name in names}
    if width is None:
        return {name: [first for (first,) in each] for name, each in columns.items()}
    if "words" in names:
        columns["source_words"] = [
            " ".join(found[0].words.source) if found and asks(row, "words") else ""
            for row, found in both
        ]
    return columns


# {output: its value for a `Translation`}
OUTPUTS = {
    "translations": lambda each: each.text,
    "scores": lambda each: shortest(each.score),
    "alignments": lambda each: " ".join(f"{i}-{j}" for i, j in each.alignment),
    "confidence": lambda each: " ".join(f"{word:.4f}" for word in each.confidence),
    "words": lambda each: " ".join(each.words.target),
}


def shortest(value):
    """Returns a float32 as a number with the fewest digits that identify it."""
    return float(str(np.float32(value)))


def asks(row, output):
    if output == "words":
        return row.get("alignments") or row.get("confidence")
    return output in ("translations", "scores") or row.get(output)


def compared(signature, tokenizer, sources, targets, results):
    """Returns {output: a value for each row} of a signature about pairs; see `Answering.pairs`."""
    if signature == "score":
        sums = [np.sum(each, dtype="float64") for each in results]
        return {"log_probabilities": np.array(sums, "float32")}
    pieces = {"source_pieces": pieces_of(tokenizer.source, stacked(sources))}
    pieces["target_pieces"] = pieces_of(tokenizer.target, stacked(targets))
    if signature == "score_pieces":
        del pieces["source_pieces"]
        return pieces | {"log_probabilities": stacked(results)}
    if signature == "align":
        return pieces | {"weights": stacked(results)}
    return pieces | {kind: stacked([each[kind] for each in results]) for kind in results[0]}


def pieces_of(language, ids):
    """Returns the pieces of padded ids as lists; padding becomes empty."""
    known = sorted({*ids.ravel().tolist()} - {PADDING})
    names = dict(zip(known, language.pieces(known), strict=True))
    names |= {id: language.marks[id] for id in known if id in language.marks} | {PADDING: ""}
    return [[names[id] for id in row] for row in ids.tolist()]


def as_json_in(form, columns):
    """Returns an answer in the form of its request, as JSON in bytes.

    `columns` is a function that returns {output: a value for each row}.
    """
    values = columns()
    if len(values) == 1:
        (values,) = values.values()
    elif form == ROWS:
        rows = zip(*values.values(), strict=True)
        values = [dict(zip(values, row, strict=True)) for row in rows]
    return as_json({ANSWERS[form]: values})
