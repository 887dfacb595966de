import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, disturbed, gradients, vectors

from t2t_keras.decoding_cache import KeptCache, KeysValues, decoding_step
from t2t_keras.layers import MultiHeadAttention, scaled_dot_product_attention
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS


def built(**settings):
    layer = MultiHeadAttention(num_heads=2, d_model=8, **settings)
    layer.build((None, None, 8))
    return disturbed(layer)


@pytest.mark.jax
def test_scaled_dot_product_is_the_formula_over_the_visible_keys():
    q, k, v = vectors(2, 3, 4, seed=1), vectors(2, 5, 4, seed=2), vectors(2, 5, 6, seed=3)
    mask = np.tri(3, 5, 2, dtype=bool)[None]
    for given in (None, mask):
        scores = np.exp(q.astype("float64") @ k.swapaxes(1, 2) / 2)
        scores = scores if given is None else scores * given
        expected = scores / scores.sum(-1, keepdims=True)
        outputs, weights = scaled_dot_product_attention(*map(ops.array, (q, k, v)), given)
        np.testing.assert_allclose(array(weights), expected, atol=1e-6)
        np.testing.assert_allclose(array(outputs), expected @ v, atol=1e-6)
    assert (array(weights)[np.broadcast_to(~mask, weights.shape)] == 0).all()


@pytest.mark.jax
@pytest.mark.parametrize(("dtype", "digits"), [("float32", 1e-6), ("mixed_bfloat16", 2e-2)])
@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention_is_the_formula(monkeypatch, causal, dtype, digits):
    attention = built(causal=causal, dtype=dtype)
    x = vectors(3, 5, 8)
    real = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
    expected = array(ops.cast(attention(x, query_mask=real), "float32"))
    monkeypatch.setattr(MultiHeadAttention, "fused", True)
    assert attention.is_fused(None, return_weights=False) is (keras.config.backend() == "jax")
    fused = array(ops.cast(attention(x, query_mask=real), "float32"))
    np.testing.assert_allclose(fused, expected, atol=digits)
    _, weights = attention(x, query_mask=real, return_attention_scores=True)
    assert array(weights).shape == (3, 2, 5, 5)  # weights are computed by the formula


def test_the_softmax_is_computed_in_float32():
    q, k = (ops.cast(4 * vectors(1, 2, 16, seed=s), "bfloat16") for s in (1, 2))
    _, weights = scaled_dot_product_attention(q, k, k)
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    np.testing.assert_allclose(array(weights).sum(-1), 1, atol=1e-6)


def test_a_query_without_visible_keys_gets_zeros_and_finite_gradients():
    attention = MultiHeadAttention(num_heads=2, d_model=8)
    x = ops.array(vectors(2, 3, 8))
    mask = np.array([[1, 1, 0], [0, 0, 0]], bool)
    outputs, weights = attention(x, query_mask=mask, return_attention_scores=True)
    assert (array(weights)[1] == 0).all()
    assert (array(outputs)[1] == 0).all()
    for gradient in gradients(attention, lambda: ops.sum(attention(x, query_mask=mask) ** 2)):
        assert np.isfinite(gradient).all()
        assert np.any(gradient)


@pytest.mark.jax
def test_contract(tmp_path):
    settings = {"num_heads": 2, "d_model": 8, "d_k": 3, "d_v": 5, "dropout": 0.1, "use_bias": True}
    settings |= {"causal": True, "positions": "sinusoidal", "attention": "additive"}
    layer = check_layer(MultiHeadAttention, settings, [vectors(2, 4, 6)], 9, tmp_path, 8)
    kernels = [tuple(w.shape) for w in layer.weights if w.path.endswith("kernel")]
    assert kernels == [(6, 6), (6, 6), (6, 10), (10, 8)]


def test_contract_with_a_memory_of_different_width(tmp_path):
    inputs = [vectors(2, 4, 8), vectors(2, 6, 10)]
    layer = check_layer(MultiHeadAttention, {"num_heads": 2, "d_model": 8}, inputs, 4, tmp_path)
    _, weights = layer(*inputs, return_attention_scores=True)
    assert tuple(weights.shape) == (2, 2, 4, 6)


def test_keras_masks_act_like_explicit_masks():
    attention, tokens = MultiHeadAttention(2, 8), np.array([[3, 4, 0, 0], [5, 6, 7, 8]])
    x = keras.layers.Embedding(10, 8, mask_zero=True)(tokens)
    bare, mask, query = ops.array(array(x)), ops.array(tokens != 0), ops.array(vectors(2, 3, 8))
    for masked, explicit, without in (
        (attention(x), attention(bare, query_mask=mask), attention(bare)),
        (attention(query, x), attention(query, bare, value_mask=mask), attention(query, bare)),
    ):
        np.testing.assert_allclose(array(masked), array(explicit))
        assert not np.allclose(array(masked), array(without))


def test_dropout_acts_in_training_only():
    attention = MultiHeadAttention(num_heads=2, d_model=8, dropout=0.5)
    x = ops.array(vectors(2, 5, 8))
    np.testing.assert_array_equal(array(attention(x)), array(attention(x, training=False)))
    assert not np.allclose(array(attention(x)), array(attention(x, training=True)))


@pytest.mark.parametrize(
    ("widths", "memory"),
    [({}, []), ({}, [vectors(2, 4, 8)]), ({"d_k": 3, "d_v": 5}, [])],
    ids=["self", "memory", "widths"],
)
def test_one_product_in_training_equals_several(widths, memory):
    attention = built(use_bias=True, **widths)
    arrays = [ops.array(x) for x in [vectors(2, 5, 8), *memory]]
    expected = array(attention(*arrays, training=False))
    np.testing.assert_allclose(array(attention(*arrays, training=True)), expected, atol=1e-6)


def test_a_projection_of_ones_own_is_called_in_training():
    """In training, the usual projections are columns of one product."""

    class Tripled(keras.layers.Dense):
        def call(self, inputs):
            return 3 * super().call(inputs)

    layer, x = MultiHeadAttention(num_heads=2, d_model=16), ops.array(vectors(2, 5, 16))
    layer.value = Tripled(16, use_bias=False, name="value")
    layer.build(x.shape)
    np.testing.assert_allclose(array(layer(x, training=True)), array(layer(x)), atol=1e-5)


@pytest.mark.jax
def test_cached_decoding_equals_uncached():
    check_cached_decoding(built(d_k=3, d_v=5, causal=True, use_bias=True))


def check_cached_decoding(attention):
    x = ops.array(vectors(2, 5, 8))
    expected = array(attention(x))
    cache = attention.empty_cache(2, 7)
    shapes = [part.shape for part in cache]
    for position in range(5):
        step = decoding_step(cache, position, beams=1)
        output, cache = attention(x[:, position], step=step, cache=cache)
        np.testing.assert_allclose(array(output), expected[:, position], atol=1e-6)
    assert [part.shape for part in cache] == shapes


def test_encodings_of_queries_and_keys_act_on_their_own_positions(monkeypatch):
    def scaled(x, positions):
        return x * ops.cast(1 + positions, x.dtype)[..., None]

    kind = POSITIONAL_ENCODINGS["sinusoidal"]._replace(encode_heads=scaled)
    monkeypatch.setitem(POSITIONAL_ENCODINGS, "scaled", kind)
    factors = np.arange(1, 6, dtype="float32")[:, None]
    x, memory = ops.array(vectors(2, 3, 8)), ops.array(vectors(2, 5, 8, seed=1))
    for arrays in ((memory,), (x, memory)):
        attention = built(positions="scaled")
        _, weights = attention(*arrays, return_attention_scores=True)
        queries = attention.split_heads(attention.query(arrays[0]), 4)
        keys = attention.split_heads(attention.key(memory), 4)
        _, expected = scaled_dot_product_attention(
            queries * factors[: queries.shape[2]], keys * factors, keys
        )
        np.testing.assert_allclose(array(weights), array(expected), atol=1e-6)
    check_cached_decoding(built(positions="scaled", causal=True))


def test_wrong_arguments_are_named():
    x = ops.array(vectors(1, 3, 8))
    with pytest.raises(ValueError, match="`key` must be left out without `value`"):
        MultiHeadAttention(num_heads=2, d_model=8)(x, key=x)
    with pytest.raises(ValueError, match=r"`query` must have the shape .*\(3, 8\)"):
        MultiHeadAttention(num_heads=2, d_model=8)(x[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_heads": 0}, "`num_heads` must be a whole number of at least 1"),
        ({"num_heads": 3}, "`num_heads` must be a divisor of d_model=8"),
        ({"d_k": -1}, "`d_k` must be .* Received: d_k=-1"),
        ({"d_v": 2.5}, "`d_v` must be"),
        ({"dropout": 1.5}, "`dropout` must be .* below 1"),
        ({"attention": "added"}, "`attention` must be one of .*did you mean 'additive'"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**{"num_heads": 2, "d_model": 8, **settings})


@pytest.mark.parametrize(
    "settings", [{}, {"d_k": 3, "d_v": 5, "positions": "t5", "attention": "additive"}]
)
def test_a_step_that_only_reads_its_cache_equals_one_that_writes_it(settings):
    layer = built(causal=True, **settings)
    sentences, beams, length, position = 2, 3, 5, 2
    shape = sentences, layer.num_heads, length * beams
    cache = KeysValues(
        ops.array(vectors(*shape, layer.d_k, seed=1)), ops.array(vectors(*shape, layer.d_v, seed=2))
    )
    x = ops.array(vectors(sentences * beams, 8, seed=3))
    earlier = np.random.default_rng(4).random((sentences, beams, length * beams)) < 0.5
    own = np.arange(beams)
    earlier[:, :, position * beams :] = False
    visible = earlier.copy()
    visible[:, own, position * beams + own] = True
    step = decoding_step(cache, position, beams, ops.array(visible))
    expected, written = layer(x, step=step, cache=cache)
    bias = ops.array(np.where(earlier, 0, -np.inf).astype("float32"))
    step = decoding_step(KeptCache(*cache), position, beams, bias)
    found, new = layer(x, step=step, cache=KeptCache(*cache))
    np.testing.assert_allclose(array(found), array(expected), atol=1e-6)
    for ours, theirs in zip(new, written, strict=True):
        theirs = array(theirs)[:, :, position * beams : (position + 1) * beams]
        np.testing.assert_allclose(array(ours), theirs, atol=1e-6)
