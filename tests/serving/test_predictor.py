"""Whether texts are split depends on the request, the server and the model, in this order."""

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pytest

from pipelines.sentences import split_sentences
from t2t_keras.export.signature_constants import OPTIONS
from t2t_keras.serving.limits import Limits
from t2t_keras.serving.predictor import Predictor
from t2t_keras.serving.rest import Query
from t2t_keras.serving.signatures import Signature
from t2t_keras.serving.tensors import Spec

TEXT = Spec("string", (None,))
OUTPUTS = {"translations": TEXT, "scores": Spec("float32", (None,))}


class Batcher:
    """Translates each row to the number of its words."""

    def __init__(self, name, **inputs):
        self.signature = Signature(name, {"text": TEXT, **inputs}, OUTPUTS, True, None)

    async def __call__(self, inputs, connection):
        words = [str(len(text.split())).encode() for text in inputs["text"]]
        return {"translations": np.array(words, object), "scores": np.zeros(len(words))}


def predicted(row, signature=OPTIONS, default=True, **settings):
    batchers = {OPTIONS: Batcher(OPTIONS, split=Spec("bool", (None,), default))}
    batchers["serving_default"] = Batcher("serving_default")
    predictor = Predictor(Limits(), **{"split_sentences": split_sentences, **settings})
    query = Query(signature, "instances", [row])
    body = asyncio.run(
        predictor(query, SimpleNamespace(batchers=batchers, wishes=None, split_code=None), None)
    )
    return json.loads(body)["predictions"][0]["translations"]


@pytest.mark.parametrize(
    ("expected", "row", "settings"),
    [
        ("2 3", {}, {}),
        ("5", {"split": False}, {"split": True}),
        ("5", {}, {"split": False}),
        ("2 3", {"split": True}, {"split": False}),
        ("5", {}, {"default": False}),
        ("2 3", {}, {"default": False, "split": True}),
        ("2 3", {}, {"signature": "serving_default"}),
        ("5", {}, {"signature": "serving_default", "default": False}),
        ("5", {}, {"signature": "serving_default", "split_sentences": None}),
        ("2 750", {"text": "Two dogs. " + "The cat sleeps " * 250}, {}),
    ],
)
def test_texts_are_split_unless_something_says_otherwise(expected, row, settings):
    assert predicted({"text": "Two dogs. The cat sleeps.", **row}, **settings) == expected
