"""Each array is kept once for the backward pass, and no array that is cheap to compute again."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from support.models.helpers import pairs, tensors, tiny_model, vectors
from support.models.kept_arrays import kept_arrays

from t2t_keras.layers import EncoderBlock
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
