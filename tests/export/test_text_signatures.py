"""Graphs divide texts and form batches as the Python code does."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.signature_names import Ids
from t2t_keras.export.text_parts import in_batches, joined
from t2t_keras.export.text_signatures import (
    Language,
    TextSignatures,
    default_options,
    in_first_parts,
)
from t2t_keras.translating.sentences import parts_of


class Numbers:
    """A tokenizer whose ids are the numbers in a text.

    Ids above 6 begin a word. Begin, 1, and a language code, 2, apply to all parts of a text.
    """

    begins_word = np.arange(10) > 6

    def encode(self, texts):
        return [np.array(text.split(), "int32") for text in texts]

    def lead(self, ids):
        return next((place for place, id in enumerate(ids) if id > 2), len(ids))

    def tokenize(self, texts):
        return tf.strings.to_number(tf.strings.split(texts), tf.int32)

    def leads(self, ids):
        return tf.reduce_sum(tf.cast(ids <= 2, tf.int32), 1)


def test_long_texts_are_divided_as_in_python_and_every_part_begins_as_its_text():
    random = np.random.default_rng(0)
    lengths = (0, 1, 9, 10, 11, 0, 57, 200, 0)
    texts = [" ".join(map(str, random.integers(3, 10, n))) for n in lengths] + ["4 " * 35]
    for lead in ("", "1 ", "1 2 "):
        texts += [lead + text for text in texts[:10]]
    texts.append("")
    expected = [
        (index, *part, 2)
        for index, ids in enumerate(Numbers().encode(texts))
        for part in parts_of(ids, Numbers(), 10)
    ]

    class Model:
        longest = 11

    language = Language(Numbers(), ["x"] * 10, Numbers.begins_word, has_lead=True)
    signatures = TextSignatures(Model(), {}, SearchConfig(), language, language)
    ids, text_of = signatures.parts(tf.constant(texts))
    assert [(n, *p) for n, p in zip(text_of.numpy(), ids.to_list(), strict=True)] == expected
    assert max(map(len, expected)) == 12, "the index of the text, ten ids, the end"


def test_batches_hold_the_longest_rows_first_and_results_keep_their_order():
    batches = []

    def double(rows):
        batches.append(rows.numpy().tolist())
        return (tf.cast(rows, tf.float32) * 2,)

    (result,) = in_batches(double, tf.constant([3, 30, 8, 17, 1]), 48, (tf.zeros([0]),))
    assert result.numpy().tolist() == [0, 2, 4, 6, 8]
    assert batches == [[1], [3, 2], [0, 4]]


def test_translations_of_parts_are_joined_and_their_scores_added():
    texts = tf.constant([["a", "b"], ["c\nd", ""], ["e", "f"]])
    scores = tf.constant([[-1.0, -2.0], [-3.0, -4.0], [-5.0, -np.inf]])
    outputs = joined(texts, scores, tf.constant([0, 0, 2]), 3)
    assert outputs["translations"].numpy().tolist() == [[b"a c d", b"b"], [b"", b""], [b"e", b""]]
    lowest = np.finfo("float32").min
    np.testing.assert_array_equal(outputs["scores"], [[-4, -6], [0, lowest], [-5, lowest]])


@pytest.mark.parametrize(("signature", "longest"), [("score", 1024), ("align", 256)])
def test_texts_that_are_too_long_are_refused_before_anything_is_computed(signature, longest):
    computed = []

    class Model:
        longest = None

    def record(ids):
        computed.append(np.count_nonzero(ids))
        return np.zeros(ids.shape, "float32")

    def compute(source, target):
        (found,) = tf.numpy_function(record, [source], [tf.float32], stateful=False)
        found = tf.ensure_shape(found, [None, None])
        return {"log_probabilities": found, "weights": found}

    language = Language(Numbers(), ["x"] * 9, [True] * 9)
    ids = {Ids.LOG_P: compute, Ids.ATTENTION: compute}
    signatures = TextSignatures(Model(), ids, SearchConfig(), language, language)
    function = tf.function(getattr(signatures, signature), autograph=False)
    allowed, too_long = (tf.constant(["5 " * size]) for size in (longest - 1, longest))
    function(allowed, tf.constant(["5"]))
    assert computed == [longest]
    for pair in ((too_long, allowed), (allowed, too_long)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"at most {longest} tokens"):
            function(*pair)
    assert computed == [longest]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam": [4, 5, 5]}, "`beam` must be from 1 to 4. Received:"),
        ({"beam": [0]}, "`beam` must be from 1 to 4. Received:"),
        ({"beam": [1, 2, 3], "n_best": [2]}, "`n_best` must be from 1 to the beam. "),
        ({"alpha": [-0.5]}, "`alpha` must be from 0 to 10. Received:"),
        ({"alpha": [float("nan")]}, "`alpha` must be from 0 to 10. Received:"),
        ({"prefix": ["a", "b"]}, "`prefix` must have a value for each text, or one for all. "),
    ],
)
def test_wrong_options_are_refused_before_anything_is_computed(changes, message):
    language, config = Language(None, ["x"] * 9, [True] * 9), SearchConfig()
    signatures = TextSignatures(SimpleNamespace(longest=None), {}, config, language, language)
    options = default_options(config) | {name: tf.constant(each) for name, each in changes.items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        signatures.translate_with_options(tf.constant(["a", "b", "c"]), *options.values())


def test_only_the_first_part_of_a_text_keeps_its_prefix():
    text_of, prefix = tf.constant([0, 0, 2, 3, 3]), tf.ragged.constant([[5], [8], [], [6, 7]])
    assert in_first_parts(prefix, text_of).to_list() == [[5], [], [], [6, 7], []]
    assert in_first_parts(prefix, text_of[:0]).to_list() == []
