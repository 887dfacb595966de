"""What heads look at, and models without one of them."""

import numpy as np
from support.models.helpers import array, pairs, tiny_model

from t2t_keras.reproduction.claims.head_analysis import attentions, distance, entropy, without_head

EVEN, OWN = np.full((3, 4), 0.25), np.eye(4)[:3]


def test_entropy_and_distance_tell_even_weights_from_a_single_position():
    p = np.stack([EVEN, OWN])
    np.testing.assert_allclose(entropy(p), [np.log(4), 0])
    np.testing.assert_allclose(distance(p), [np.mean([6, 4, 4]) / 4, 0])


def test_layers_have_the_names_of_their_attention_weights():
    model = tiny_model()
    assert list(attentions(model)) == list(model.attention_weights(pairs()))


def test_a_head_is_removed_and_comes_back():
    model, inputs = tiny_model(), pairs()
    attention = attentions(model)["decoder/1/cross_attention"]
    complete, weights = array(model(inputs)), attention.get_weights()
    with without_head(attention, 1):
        assert not attention.output_projection.kernel.numpy()[attention.d_v :].any()
        assert np.abs(array(model(inputs)) - complete).max() > 1e-3
    for before, after in zip(weights, attention.get_weights(), strict=True):
        np.testing.assert_array_equal(after, before)
