import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, disturbed, vectors

from t2t_keras.decoding_cache import decoding_step
from t2t_keras.layers import LocalSelfAttention, MultiHeadAttention
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS
from t2t_keras.layers.relative_bias import ALiBiBias, T5Bias, alibi_slopes, buckets_of, offsets_in


def bucket_in_float32(offset, causal, buckets, max_distance):
    """Returns the bucket as T5's own code computes it, in float32."""
    first = 0
    if causal:
        distance = max(-offset, 0)
    else:
        buckets //= 2
        first, distance = buckets * (offset > 0), abs(offset)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    share = np.log(np.float32(distance) / np.float32(exact)) / np.float32(
        np.log(max_distance / exact)
    )
    return first + min(exact + int(share * np.float32(buckets - exact)), buckets - 1)


@pytest.mark.parametrize(
    ("causal", "buckets", "max_distance"), [(False, 32, 128), (True, 32, 128), (False, 8, 20)]
)
def test_buckets_are_those_of_t5(causal, buckets, max_distance):
    bias = T5Bias(1, causal, buckets, max_distance)
    bias.build((None, None))
    bias.table.assign(np.arange(buckets, dtype="float32")[:, None])
    offsets = np.arange(-300, 301, dtype="int32")
    expected = [bucket_in_float32(int(each), causal, buckets, max_distance) for each in offsets]
    np.testing.assert_array_equal(array(bias(ops.array(offsets[None])))[0, 0], expected)
    used = buckets_of(causal, buckets, max_distance)
    assert set(used) == set(range(buckets)) - ({buckets // 2} if not causal else set())


def test_slopes_are_those_of_alibi_for_any_number_of_heads():
    np.testing.assert_allclose(alibi_slopes(8), [2.0**-i for i in range(1, 9)])
    np.testing.assert_allclose(alibi_slopes(1), [2.0**-8])
    of_12 = [*(2.0**-i for i in range(1, 9)), *(2.0 ** -(i / 2) for i in (1, 3, 5, 7))]
    np.testing.assert_allclose(alibi_slopes(12), of_12)
    np.testing.assert_allclose(alibi_slopes(6), [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8])
    np.testing.assert_allclose(alibi_slopes(3), [1 / 16, 1 / 256, 1 / 4])


def test_alibi_falls_with_the_distance_on_both_sides():
    biases = array(ALiBiBias(2)(offsets_in(4, 4)))
    distances = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    np.testing.assert_allclose(biases, [-distances / 16, -distances / 256])


@pytest.mark.parametrize("bias", [T5Bias(3, True, buckets=8, max_distance=9), ALiBiBias(3)])
def test_biases_are_serialized_and_computed_in_float32(bias):
    mixed = type(bias).from_config({**bias.get_config(), "dtype": "mixed_bfloat16"})
    output = mixed(offsets_in(4, 5))
    assert keras.backend.standardize_dtype(output.dtype) == "float32"
    assert output.shape == (3, 4, 5)
    changed = {
        name for name, value in bias.get_config().items() if mixed.get_config()[name] != value
    }
    assert changed == {"dtype"}


@pytest.mark.parametrize(("positions", "neighbourhood"), [("t5", None), ("alibi", 3)])
def test_hypotheses_in_any_slots_have_outputs_of_their_whole_sequences(positions, neighbourhood):
    """At each position, both beams continue the hypothesis that the other one has written."""
    settings = {"num_heads": 3, "d_model": 6, "causal": True, "positions": positions}
    rolling = neighbourhood is not None
    layer = (
        LocalSelfAttention(**settings, neighbourhood=neighbourhood)
        if rolling
        else MultiHeadAttention(**settings)
    )
    layer.build((None, None, 6))
    disturbed(layer, scale=1)
    beams, length = 2, 6
    x = vectors(beams, length, 6)  # a row for each beam and position
    slots, cache = [[], []], layer.empty_cache(1, length, beams)
    for position in range(length):
        slots = [slots[1 - beam] + [position * beams + beam] for beam in range(beams)]
        visible = np.array([[np.isin(np.arange(length * beams), each) for each in slots]])
        step = decoding_step(cache, position, beams, ops.array(visible), rolling)
        output, cache = layer(ops.array(x[:, position]), step=step, cache=cache)
        for beam in range(beams):
            whole = np.stack([x[slot % beams, slot // beams] for slot in slots[beam]])
            expected = array(layer(ops.array(whole[None])))[0, -1]
            np.testing.assert_allclose(array(output)[beam], expected, atol=1e-5)


def test_a_kind_of_ones_own_may_have_a_function_of_offsets(monkeypatch):
    def logarithmic(num_heads, causal, **layer):
        return lambda offsets: -ops.log1p(ops.abs(ops.cast(offsets, "float32")))[None]

    kind = POSITIONAL_ENCODINGS["none"]._replace(bias=logarithmic)
    monkeypatch.setitem(POSITIONAL_ENCODINGS, "logarithmic", kind)
    layer = MultiHeadAttention(num_heads=2, d_model=8, positions="logarithmic")
    plain, x = MultiHeadAttention(num_heads=2, d_model=8), ops.array(vectors(2, 5, 8))
    _, weights = layer(x, return_attention_scores=True)
    plain.build(x.shape)
    plain.set_weights(layer.get_weights())
    _, expected = plain(x, return_attention_scores=True)
    expected = array(expected) / (1 + np.abs(np.subtract.outer(np.arange(5), np.arange(5))))
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(array(weights), expected, atol=1e-6)


def test_a_memory_has_offsets_of_its_positions_but_no_decoding_steps(monkeypatch):
    x = ops.array(vectors(2, 5, 8))
    kind = POSITIONAL_ENCODINGS["none"]._replace(encode_heads=lambda x, positions: x)
    monkeypatch.setitem(POSITIONAL_ENCODINGS, "rotary", kind)
    for positions in ("alibi", "rotary"):
        layer = MultiHeadAttention(num_heads=2, d_model=8, positions=positions)
        np.testing.assert_allclose(array(layer(x[:, :3], x)), array(layer(x))[:, :3], atol=1e-6)
        memory = layer.keys_and_values(x)
        with pytest.raises(ValueError, match=f"positions='{positions}' has no decoding steps"):
            layer(x[:, 0], step=decoding_step(memory, 0, beams=1), cache=memory)
