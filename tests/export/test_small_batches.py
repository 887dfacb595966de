"""Small batches of texts take a compiled shape of a SavedModel if there is one."""

import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.decoding import compiled_shapes
from t2t_keras.decoding.compiled_shapes import Shape
from t2t_keras.export.signature_constants import COMPILED
from t2t_keras.export.small_batches import SmallBatches


class Signature:
    """Translates texts by capitals; a byte is a token. "long" has a long translation."""

    def __init__(self):
        self.calls = []

    def __call__(self, text, lengths):
        texts, lengths = text.numpy().tolist(), lengths.numpy().tolist()
        length = max(map(len, texts)) + 1
        self.calls.append((texts, lengths))
        return {
            "translations": tf.constant([[each.upper()] for each in texts]),
            "scores": tf.zeros([len(texts), 1]),
            "length": tf.constant(length),
            "finished": tf.constant(length <= max(lengths, default=0) and b"long" not in texts),
        }


@pytest.fixture
def signature():
    return Signature()


def otherwise(texts):
    translations = np.full((len(texts), 1), "-")
    return {"translations": translations, "scores": np.zeros_like(translations, float)}


def translated(small, texts):
    results = small.translate(texts, otherwise)
    assert len(results["scores"]) == len(texts)
    return results["translations"][:, 0].tolist()


def test_only_texts_that_fit_into_a_compiled_shape_are_translated_by_it(signature):
    small = SmallBatches({COMPILED: signature})
    assert translated(small, ["a"]) == ["-"]
    for shape in (Shape(1, 32), Shape(1, 16), Shape(4, 16)):
        small.shapes.compile(shape)
    signature.calls.clear()
    assert translated(small, ["a"]) == [b"A"]
    assert translated(small, ["a" * 31]) == [b"A" * 31]
    assert translated(small, ["a" * 32]) == translated(small, ["long"]) == ["-"]
    assert signature.calls[0] == ([b"a"], [16, 32])
    assert translated(small, ["a", "b", "c"]) == [b"A", b"B", b"C"]
    assert signature.calls[-1] == ([b"a", b"b", b"c", b"a"], [16])
    assert translated(small, list("abcde")) == ["-"] * 5
    assert translated(small, []) == []


def test_the_compiled_signature_is_not_loaded_before_it_may_pay(signature):
    small = SmallBatches({COMPILED: signature})
    for _ in range(3):
        translated(small, ["a"])
    assert not signature.calls and 0 < small.seconds[1] < 1
    small.seconds[1] = compiled_shapes.PAYS_AFTER
    translated(small, ["a"])
    assert signature.calls == [([b"a"], [])] and small.shapes.seconds.keys() == {(1, 16)}


def test_a_frequent_shape_is_compiled_unless_the_caller_does_it(signature, monkeypatch):
    monkeypatch.setattr(compiled_shapes, "PAYS_AFTER", 0.0)
    for compile_frequent, expected in ((True, {(2, 16)}), (False, set())):
        small = SmallBatches({COMPILED: signature}, compile_frequent)
        for _ in range(2):  # the first call is slow for other reasons
            translated(small, ["a", "b"])
        assert small.shapes.ready == expected


def test_a_savedmodel_without_the_signature_translates_as_before():
    assert translated(SmallBatches({}), ["a"]) == ["-"]
