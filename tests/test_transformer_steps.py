"""Cached decoding with the Transformer, one position at a time."""

import numpy as np
import pytest
from keras import ops
from support.models.helpers import OTHER_SYSTEMS, array, compiled, ids, pairs, tensors, tiny_model


@pytest.mark.jax
@pytest.mark.parametrize(
    "settings",
    [
        OTHER_SYSTEMS,
        {"positions": "learned", "d_k": 3, "d_v": 5},
        {"attention": "unscaled"},
        {"attention": "additive", "d_k": 3},
        {"neighbourhood": 3, "decoder_neighbourhood": 3},
        {"decoder_neighbourhood": 30},
        {"positions": "t5", "pre_norm": True},
        {"positions": "alibi", "num_heads": 4, "decoder_neighbourhood": 3},
    ],
)
def test_cached_decoding_equals_uncached(settings):
    model, inputs = tiny_model(**settings), pairs(vocab_size=40)
    expected = array(model(inputs))
    memory, cache = model.start_decoding(ops.array(inputs["source"]), max_length=8)
    for position in range(6):
        tokens = ops.array(inputs["target"][:, position])
        logits, cache = model.decode_step(tokens, position, cache, memory)
        np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)


def test_hypotheses_of_a_sentence_share_its_memory():
    model, inputs = tiny_model(), pairs()
    target = ids(6, 4)  # two hypotheses for each of three sentences
    expected = array(model({"source": inputs["source"].repeat(2, axis=0), "target": target}))
    memory, cache = model.start_decoding(ops.array(inputs["source"]), max_length=4, beams=2)
    assert memory.keys_values[0].keys.shape[0] == 3
    for position in range(4):
        logits, cache = model.decode_step(ops.array(target[:, position]), position, cache, memory)
        np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)


def test_a_hypothesis_may_continue_a_different_one():
    model, source = tiny_model(), pairs()["source"][:1]
    targets = np.array([[1, 5, 6, 7], [1, 5, 9, 4]])  # both continue hypothesis 1
    expected = array(model({"source": source.repeat(2, axis=0), "target": targets}))
    memory, cache = model.start_decoding(ops.array(source), max_length=4, beams=2)
    tokens = np.array([[1, 8, 6, 7], [1, 5, 9, 4]])
    visible = np.zeros((1, 2, 8), "bool")
    for position in range(4):
        if position == 2:
            visible[:, 0] = visible[:, 1]
        visible[:, [0, 1], [2 * position, 2 * position + 1]] = True
        logits, cache = model.decode_step(
            ops.array(tokens[:, position]), position, cache, memory, ops.array(visible)
        )
        if position >= 2:
            np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)


@pytest.mark.jax
def test_a_compiled_step_serves_every_position():
    """The shapes of the cache never change, so XLA compiles the step once."""
    model, inputs = tiny_model(), tensors(pairs())
    expected = array(model(inputs))
    memory, cache = model.start_decoding(inputs["source"], max_length=6)
    traces = []

    def step(tokens, position, cache, memory):
        traces.append(position)
        return model.decode_step(tokens, position, cache, memory)

    step = compiled(step)
    for position in range(6):
        index = ops.convert_to_tensor(position, dtype="int32")
        logits, cache = step(inputs["target"][:, position], index, cache, memory)
        np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)
    assert len(traces) == 1


def test_wrong_arguments_are_refused():
    model = tiny_model()
    source, token = ops.array(ids(2, 3)), ops.array([1, 1])
    with pytest.raises(ValueError, match="`max_length` must be"):
        model.start_decoding(source, max_length=0)
    with pytest.raises(ValueError, match="`beams` must be"):
        model.start_decoding(source, max_length=4, beams=0)
    with pytest.raises(ValueError, match=r"'source' must be integers .* rank 1"):
        model.start_decoding(source[0], max_length=4)
    memory, cache = model.start_decoding(source, max_length=4)
    with pytest.raises(ValueError, match=r"`position` must be from 0 to 3.*position=4"):
        model.decode_step(token, 4, cache, memory)
    with pytest.raises(ValueError, match="same number of rows for each of the 2 sentences"):
        model.decode_step(token[:1], 0, cache, memory)
