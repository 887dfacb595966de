"""Each array is kept once for the backward pass, and no array that is cheap to compute again."""

import collections

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from support.models.helpers import pairs, tensors, tiny_model, vectors
from support.models.kept_arrays import kept_arrays

from t2t_keras.layers import EncoderBlock, scaled_dot_product_attention
from t2t_keras.layers.layer_norm import LayerNorm
from t2t_keras.training.step.recomputation import gradients_with_recomputation


def two_blocks(**settings):
    """Returns a function: two encoder blocks."""
    settings = {"d_model": 16, "d_ff": 40, "num_heads": 2, **settings}
    blocks = [EncoderBlock(**settings, name=f"block_{i}") for i in range(2)]
    for block in blocks:
        block.build((None, None, 16))

    def function(x):
        mask = ops.ones(ops.shape(x)[:2], "bool")
        for block in blocks:
            x = block(x, mask=mask, training=True)
        return x

    return function


def test_a_layer_norm_keeps_one_array():
    norm = LayerNorm()
    norm.build((None, None, 8))
    kept = kept_arrays(lambda x: norm(2 * x, training=True), vectors(4, 3, 8))
    assert kept[4, 3, 8] == 1


def test_attention_keeps_its_weights_once():
    arrays = vectors(2, 5, 4), vectors(2, 3, 4), vectors(2, 3, 6)
    mask = np.ones((2, 1, 3), bool)
    kept = kept_arrays(lambda *x: scaled_dot_product_attention(*x, mask)[0], *arrays)
    assert kept[2, 5, 3] == 1


def test_blocks_keep_one_array_for_each_factor_of_a_product():
    x = vectors(3, 5, 16)
    kept = kept_arrays(two_blocks(), x, differentiate=gradients_with_recomputation)
    of_a_token = {shape: n for shape, n in kept.items() if shape[-1] > 1}
    assert of_a_token == {
        (3, 2, 5, 8): 2 * 3,  # queries, keys, values
        (3, 2, 5, 5): 2,  # attention weights
        (3, 5, 2, 8): 2,  # heads
        (3, 5, 40): 2,  # inner layers
        (3, 5, 16): 2 * 2,  # norms before γ and β
    }


@pytest.mark.long
@pytest.mark.parametrize(("pre_norm", "products"), [(False, 3), (True, 4)])
def test_outputs_of_norms_are_not_kept_in_graphs_for_any_length(pre_norm, products):
    """Without recomputation, there is an array for each product that reads a norm."""
    blocks = two_blocks(pre_norm=pre_norm)
    kept, recomputed = (
        kept_arrays(blocks, vectors(3, 5, 16), differentiate=differentiate, known=False)
        for differentiate in (tf.GradientTape.gradient, gradients_with_recomputation)
    )
    joined_kernels = {(16, 48): 2}
    expected = {(None, None, 16): products, **joined_kernels}
    assert kept - recomputed == collections.Counter(expected)
    assert not recomputed - kept


@pytest.mark.long
def test_gradients_are_equal_to_the_bit():
    settings = {"num_layers": 1, "dropout": 0.0, "attention_dropout": 0.0}
    model, inputs = tiny_model("mixed_bfloat16", **settings), tensors(pairs())

    def gradients(differentiate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(model(inputs, training=True)))
        weights = [weight.value for weight in model.trainable_variables]
        return [tf.convert_to_tensor(g) for g in differentiate(tape, loss, weights)]

    expected, results = (
        tf.function(lambda d=differentiate: gradients(d), autograph=False)()
        for differentiate in (tf.GradientTape.gradient, gradients_with_recomputation)
    )
    for result, gradient in zip(results, expected, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(result), gradient)
