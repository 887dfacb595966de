import keras
import numpy as np
from helpers import tiny_model
from keras import ops

from t2t_keras.decoding.greedy import greedy

SOURCE = np.array([[5, 6, 7, 2, 0], [9, 2, 0, 0, 0], [3, 4, 3, 4, 2]])


def step_by_step(model, source, length):
    """The whole target through the model again for every token."""
    written = np.zeros((len(source), length), "int32")
    for row, sentence in enumerate(source):
        target = [1]
        for position in range(length):
            inputs = {"source": sentence[None], "target": np.array([target])}
            token = int(ops.convert_to_numpy(model(inputs))[0, -1].argmax())
            written[row, position] = token
            if token == 2:
                break
            target.append(token)
    return written


def test_it_takes_the_likeliest_token_of_every_step():
    model = tiny_model()
    expected = step_by_step(model, SOURCE, 7)
    found = ops.convert_to_numpy(greedy(model, ops.convert_to_tensor(SOURCE), 7))
    np.testing.assert_array_equal(found, expected)
    assert (expected > 2).any()


def test_a_finished_sentence_is_padded():
    model = tiny_model(output_bias=True)
    bias = np.zeros(model.config.vocab_size, "float32")
    bias[2] = 1e3  # everything ends at once
    model.embedding.bias.assign(bias)
    found = ops.convert_to_numpy(greedy(model, ops.convert_to_tensor(SOURCE), 6))
    np.testing.assert_array_equal(found, [[2, 0, 0, 0, 0, 0]] * 3)


def test_rows_do_not_see_each_other():
    model = tiny_model()
    together = ops.convert_to_numpy(greedy(model, ops.convert_to_tensor(SOURCE), 6))
    for row in range(3):
        alone = greedy(model, ops.convert_to_tensor(SOURCE[row : row + 1]), 6)
        np.testing.assert_array_equal(ops.convert_to_numpy(alone)[0], together[row])


def test_it_can_be_compiled():
    model = tiny_model()
    expected = ops.convert_to_numpy(greedy(model, ops.convert_to_tensor(SOURCE), 6))
    if keras.backend.backend() == "jax":
        import jax

        compiled = jax.jit(lambda source: greedy(model, source, 6))
    else:
        import tensorflow as tf

        compiled = tf.function(lambda source: greedy(model, source, 6), jit_compile=True)
    np.testing.assert_array_equal(ops.convert_to_numpy(compiled(SOURCE)), expected)
