import keras
import numpy as np
import pytest
from helpers import tiny_model
from keras import ops

from t2t_keras.decoding.search import search
from t2t_keras.decoding.search_config import SearchConfig

SOURCE = np.array([[5, 6, 7, 2, 0], [9, 2, 0, 0, 0], [3, 4, 3, 4, 2]])


def greedy_ids(model, source, length):
    config = SearchConfig(beam=1, extra_length=10)
    return search(model, ops.convert_to_tensor(source), length, config).tokens[:, 0]


def step_by_step(model, source, length):
    """The whole target through the model again for every token."""
    written = np.zeros((len(source), length), "int32")
    for row, sentence in enumerate(source):
        target = np.zeros((1, length + 1), "int32")
        target[0, 0] = 1
        for position in range(length):
            logits = model({"source": sentence[None], "target": target[:, :length]})
            token = int(ops.convert_to_numpy(logits)[0, position].argmax())
            written[row, position] = target[0, position + 1] = token
            if token == 2:
                break
    return written


def test_it_takes_the_likeliest_token_of_every_step():
    model = tiny_model()
    expected = step_by_step(model, SOURCE, 7)
    found = ops.convert_to_numpy(greedy_ids(model, SOURCE, 7))
    np.testing.assert_array_equal(found, expected)
    assert (expected > 2).any()


def test_a_finished_sentence_is_padded():
    model = tiny_model(output_bias=True)
    bias = np.zeros(model.config.vocab_size, "float32")
    bias[2] = 1e3  # everything ends at once
    model.embedding.bias.assign(bias)
    found = ops.convert_to_numpy(greedy_ids(model, SOURCE, 6))
    np.testing.assert_array_equal(found, [[2, 0, 0, 0, 0, 0]] * 3)


@pytest.mark.one_backend
def test_rows_do_not_see_each_other():
    model = tiny_model()
    together = ops.convert_to_numpy(greedy_ids(model, SOURCE, 6))
    for row in range(3):
        alone = greedy_ids(model, SOURCE[row : row + 1], 6)
        np.testing.assert_array_equal(ops.convert_to_numpy(alone)[0], together[row])


def test_it_can_be_compiled():
    model = tiny_model()
    expected = ops.convert_to_numpy(greedy_ids(model, SOURCE, 6))
    if keras.backend.backend() == "jax":
        import jax

        compiled = jax.jit(lambda source: greedy_ids(model, source, 6))
    else:
        import tensorflow as tf

        compiled = tf.function(lambda source: greedy_ids(model, source, 6), jit_compile=True)
    np.testing.assert_array_equal(ops.convert_to_numpy(compiled(SOURCE)), expected)


@pytest.mark.one_backend
def test_the_score_is_that_of_the_tokens_and_each_sentence_has_its_limit():
    model = tiny_model()
    config = SearchConfig(beam=1, alpha=0.6, extra_length=1)
    tokens, scores = (
        ops.convert_to_numpy(part) for part in search(model, ops.array(SOURCE), 20, config)
    )
    assert (tokens[:, 0] > 0).sum(-1).tolist() <= [5, 3, 6]
    for row in range(3):
        written = tokens[row, 0][tokens[row, 0] > 0]
        inputs = {"source": SOURCE[row : row + 1], "target": np.insert(written, 0, 1)[None, :-1]}
        logits = ops.convert_to_numpy(model(inputs))[0].astype("float64")
        log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        total = log_p[np.arange(len(written)), written].sum()
        expected = total / ((5 + len(written)) / 6) ** 0.6
        np.testing.assert_allclose(scores[row, 0], expected, rtol=1e-4)
