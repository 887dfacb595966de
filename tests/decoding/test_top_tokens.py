import numpy as np
import pytest
from keras import ops
from support.models.helpers import array

from t2t_keras.decoding.top_tokens import group_size, log_normalizer, top_tokens


@pytest.mark.parametrize(
    ("shape", "vocabulary"), [((3,), 6), ((2, 4), 97), ((3,), 1000), ((2, 4), 8000)]
)
def test_it_equals_top_k(shape, vocabulary):
    logits = np.random.default_rng(0).normal(size=(*shape, vocabulary)).astype("float32")
    values, ids = top_tokens(ops.array(logits), 5)
    order = np.argsort(-logits, axis=-1)[..., :5]
    np.testing.assert_array_equal(array(ids), order)
    np.testing.assert_array_equal(array(values), np.take_along_axis(logits, order, axis=-1))


def test_all_of_the_largest_may_be_in_one_group():
    logits = np.zeros((1, 1000), "float32")
    logits[0, 500:510] = np.arange(10) + 1
    _, ids = top_tokens(ops.array(logits), 10)
    assert array(ids)[0].tolist() == list(range(509, 499, -1))


def test_the_groups_of_usual_vocabularies_are_of_similar_number_and_size():
    assert [group_size(vocabulary) for vocabulary in (37000, 32000, 1000, 97)] == [148, 128, 25, 1]


def test_the_normalizer_equals_logsumexp():
    logits = 30 * np.random.default_rng(0).normal(size=(4, 500)).astype("float32")
    logits[1] -= 1e4
    normalizer = array(log_normalizer(ops.array(logits), ops.array(logits.max(-1))))
    logits = logits.astype("float64")
    largest = logits.max(-1, keepdims=True)
    expected = np.log(np.exp(logits - largest).sum(-1)) + largest[:, 0]
    np.testing.assert_allclose(normalizer, expected, atol=1e-3, rtol=1e-6)
