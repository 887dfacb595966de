"""Small batches of texts take a compiled shape of a SavedModel if there is one."""

import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.decoding import compiled_shapes
from t2t_keras.decoding.compiled_shapes import Shape
from t2t_keras.export.signature_constants import BATCH, SMALL_BATCH
from t2t_keras.export.small_batches import SmallBatches


class Signature:
    """Translates texts by capitals; a byte is a token. Long translations need room.

    "long" fits into no shape, "wide" needs 32 tokens.
    """

    def __init__(self):
        self.calls = []

    def __call__(self, text, **integers):
        texts, lengths, *rows = (each.numpy().tolist() for each in (text, *integers.values()))
        lengths_of_texts = [len(each) + 1 for each in texts]
        length = max(lengths_of_texts, default=0)
        self.calls.append((texts, lengths, *rows))
        return {
            "translations": tf.reshape(tf.constant([each.upper() for each in texts]), [-1, 1]),
            "scores": tf.zeros([len(texts), 1]),
            "length": tf.constant(lengths_of_texts, tf.int32),
            "finished": tf.constant(self.finished(texts, length, lengths)),
        }

    def finished(self, texts, length, lengths):
        used = next((each for each in lengths if each >= length), None)
        return not (used is None or b"long" in texts or (b"wide" in texts and used < 32))


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
    small = SmallBatches({SMALL_BATCH: signature})
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


def test_a_long_translation_gets_the_room_of_the_longest_compiled_shape(signature):
    small = SmallBatches({SMALL_BATCH: signature})
    for shape in (Shape(1, 16), Shape(2, 16), Shape(1, 32), Shape(1, 64)):
        small.shapes.compile(shape)
    signature.calls.clear()
    assert translated(small, ["wide"]) == [b"WIDE"] and translated(small, ["a"]) == [b"A"]
    assert [lengths for _, lengths in signature.calls] == [[16, 32, 64], [64], [16, 32, 64]]
    assert translated(small, ["wide", "a"]) == ["-"] * 2


def test_more_texts_are_translated_in_stages_with_a_signature_of_their_own(signature):
    stages = Signature()
    small = SmallBatches({SMALL_BATCH: signature, BATCH: stages})
    small.shapes.compile(Shape(16, 16))
    assert stages.calls == [([], [16], [8]), ([], [16], [16])]
    texts = list("abcdefghi")
    assert translated(small, texts) == [each.upper().encode() for each in texts]
    assert stages.calls[-1] == ([each.encode() for each in texts], [16], [8, 16])
    assert translated(small, list("abcdef")) == [each.encode() for each in "ABCDEF"]
    assert stages.calls[-1][2] == [8]
    for others in (texts * 2, texts * 4):
        assert translated(small, others) == ["-"] * len(others)
    assert not signature.calls


def test_texts_that_fit_into_no_compiled_shape_do_not_keep_the_others_from_theirs(signature):
    stages = Signature()
    small = SmallBatches({SMALL_BATCH: signature, BATCH: stages})
    for shape in (Shape(4, 64), Shape(16, 16)):
        small.shapes.compile(shape)
    texts = ["b" * 40, "a", "c", "d", "", "e" * 70, "f" * 50, "g", "h" * 15, "i"]
    capitals = [each.upper().encode() for each in texts]
    assert translated(small, texts) == [*capitals[:4], "-", "-", *capitals[6:]]
    assert translated(small, ["a" * 20] * 9) == ["-"] * 9


def test_a_long_text_does_not_keep_a_shape_from_being_compiled(signature, monkeypatch):
    monkeypatch.setattr(compiled_shapes, "PAYS_AFTER", 0.0)
    small = SmallBatches({SMALL_BATCH: signature})
    translated(small, ["b" * 100])  # the first call takes longer
    translated(small, ["a", "b" * 100])
    assert small.shapes.ready == {(2, 16)}
    assert translated(small, ["b" * 100, "a"]) == ["-", b"A"]


def test_the_compiled_signature_is_not_loaded_before_it_may_pay(signature):
    small = SmallBatches({SMALL_BATCH: signature})
    for _ in range(3):
        translated(small, ["a"])
    assert not signature.calls and 0 < small.seconds[1] < 1
    small.seconds[1] = compiled_shapes.PAYS_AFTER
    translated(small, ["a"])
    assert signature.calls == [([b"a"], [])] and small.shapes.seconds.keys() == {(1, 16)}


def test_each_compiled_signature_is_requested_once_because_it_loads_a_graph():
    class Signatures(dict):
        def __getitem__(self, name):
            requested.append(name)
            return super().__getitem__(name)

    requested = []
    SmallBatches(Signatures({SMALL_BATCH: None, BATCH: None}))
    assert requested == [SMALL_BATCH, BATCH]


def test_a_frequent_shape_is_compiled_unless_another_thread_does_it(signature, monkeypatch):
    monkeypatch.setattr(compiled_shapes, "PAYS_AFTER", 0.0)
    for in_background, ready, wanted in ((False, {(2, 16)}, []), (True, set(), [(2, 16)])):
        small = SmallBatches({SMALL_BATCH: signature}, in_background)
        for _ in range(2):  # the first call is slow for other reasons
            translated(small, ["a", "b"])
        assert small.shapes.ready == ready and small.shapes.wanted() == wanted


def test_a_savedmodel_without_the_signature_translates_as_before():
    assert translated(SmallBatches({}), ["a"]) == ["-"]


def test_a_savedmodel_with_one_of_the_signatures_translates_other_batches_as_before(signature):
    small = SmallBatches({SMALL_BATCH: signature})
    assert {shape.rows for shape in small.shapes.shapes} == {1, 2, 4}
    assert translated(small, list("abcde")) == ["-"] * 5
