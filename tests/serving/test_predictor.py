"""Whether texts are split depends on the request, the server and the model, in this order."""

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pytest

from pipelines.sentences import split_sentences
from t2t_keras.export.signature_constants import OPTIONS
from t2t_keras.serving.limits import Limits, Refusal
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


SEARCH = {
    "split": Spec("bool", (None,), True),
    "beam": Spec("int32", (None,), 4),
    "n_best": Spec("int32", (None,), 1),
    "alpha": Spec("float32", (None,), 0.5),
    "require": Spec("string", (None,), ""),
}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 9}, "`beam` must be from 1 to 4. Received: 9"),
        ({"beam": 0}, "`beam` must be from 1 to 4. Received: 0"),
        ({"beam": 2**40}, "Input 'beam': a number is out of range for int32"),
        ({"beam": 2, "n_best": 3}, "`n_best` must be at least 1 and at most the beam. Received: 3"),
        ({"n_best": -1}, "`n_best` must be at least 1 and at most the beam. Received: -1"),
        ({"alpha": -0.5}, "`alpha` must be finite and at least 0. Received: -0.5"),
        ({"alpha": float("nan")}, "`alpha` must be finite and at least 0. Received: nan"),
        ({"alpha": float("inf")}, "`alpha` must be finite and at least 0. Received: inf"),
        ({"alpha": 1e39}, "Input 'alpha': a number is out of range for float32"),
        ({"beam": 3, "require": "x"}, "`beam` must be 4 for a text with `require`. Received: 3"),
    ],
)
def test_no_model_is_asked_with_wrong_options(options, message):
    """TensorFlow would write each failed assertion to the log."""
    signature = Signature(OPTIONS, {"text": TEXT, **SEARCH}, OUTPUTS, True, None)
    batcher = SimpleNamespace(signature=signature)  # cannot be called
    version = SimpleNamespace(batchers={OPTIONS: batcher}, wishes=None)
    query = Query(OPTIONS, "instances", [{"text": "a"}, {"text": "a", **options}])
    with pytest.raises(Refusal) as error:
        asyncio.run(Predictor(Limits())(query, version, None))
    assert (error.value.status, error.value.message) == (400, message)
