import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, disturbed, vectors

from t2t_keras.layers import FeedForward, MultiHeadAttention, Residual, SharedEmbedding


def residual(**settings):
    layer = Residual(FeedForward(d_model=8, d_ff=16), **settings)
    layer.build((None, None, 8))
    return disturbed(layer)


def test_contract(tmp_path):
    settings = {"sublayer": FeedForward(d_model=8, d_ff=16), "pre_norm": True}
    check_layer(Residual, settings, [vectors(2, 4, 8)], 6, tmp_path)


def test_the_norm_is_of_the_sum_or_of_the_input_of_the_sublayer():
    x = ops.array(vectors(2, 3, 8))
    post, pre = residual(), residual(pre_norm=True)
    np.testing.assert_allclose(array(post(x)), array(post.norm(x + post.sublayer(x))), atol=1e-6)
    np.testing.assert_allclose(array(pre(x)), array(x + pre.sublayer(pre.norm(x))), atol=1e-6)


def test_dropout_acts_before_the_sum():
    layer, x = residual(dropout=0.5, pre_norm=True), ops.array(vectors(50, 3, 8))
    difference = array(layer(x, training=True)) - array(x)
    dropped = np.abs(difference) < 1e-6
    assert 0.4 < dropped.mean() < 0.6
    expected = 2 * array(layer.sublayer(layer.norm(x)))
    np.testing.assert_allclose(difference[~dropped], expected[~dropped], atol=1e-5)


def test_memory_and_masks_reach_the_sublayer_and_further_results_are_returned():
    layer = Residual(MultiHeadAttention(num_heads=2, d_model=8))
    x, memory = ops.array(vectors(2, 3, 8)), ops.array(vectors(2, 5, 8, seed=1))
    mask = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 0]], bool)
    masked, weights = layer(x, memory, value_mask=mask, return_attention_scores=True)
    assert tuple(weights.shape) == (2, 2, 3, 5)
    np.testing.assert_array_equal(array(masked), array(layer(x, memory, value_mask=mask)))
    np.testing.assert_allclose(array(masked)[1:], array(layer(x[1:], memory[1:, :1])), atol=1e-6)
    assert not np.allclose(array(masked), array(layer(x, memory)))


@pytest.mark.parametrize("pre_norm", [False, True])
def test_keras_masks_reach_the_sublayer(pre_norm):
    layer, embedding = Residual(MultiHeadAttention(2, 8), pre_norm=pre_norm), SharedEmbedding(20, 8)
    x, padded, short = ops.array(vectors(1, 3, 8)), np.array([[4, 5, 0, 0]]), np.array([[4, 5]])
    memory, bare = embedding(padded), embedding(short)
    np.testing.assert_allclose(array(layer(memory))[:, :2], array(layer(bare)), atol=1e-6)
    np.testing.assert_allclose(array(layer(x, memory)), array(layer(x, bare)), atol=1e-6)
    feed_forward = residual(pre_norm=pre_norm)  # its sub-layer has no mask argument
    assert tuple(feed_forward(memory).shape) == (1, 4, 8)
    with pytest.raises(TypeError, match="mask"):
        feed_forward(x, mask=np.ones((1, 3), bool))


@pytest.mark.parametrize("settings", [{"dropout": 1}, {"norm_epsilon": 0}])
def test_wrong_settings_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        residual(**settings)
