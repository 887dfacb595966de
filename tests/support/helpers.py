"""What several test files need: random inputs, gradients on any backend, the layer contract."""

import keras
import numpy as np
from keras import ops

from t2t_keras import Transformer, TransformerConfig

TINY = {"vocab_size": 50, "num_layers": 2, "d_model": 16, "d_ff": 32, "num_heads": 2}


OTHER_SYSTEMS = {
    "positions": "concatenated",
    "position_offset": 1,
    "source_vocab_size": 40,
    "activation": "swish",
    "attention_bias": True,
    "output_bias": True,
    "pre_norm": True,
    "norm_epsilon": 0.1,  # large, so that leaving it out would show
}


def tiny_model(dtype=None, **settings):
    return disturbed(Transformer(TransformerConfig(**{**TINY, **settings}), dtype=dtype))


def disturbed(layer, scale=0.1, seed=0):
    """Moves every weight off its initial value, so that no bias is 0 and no gain is 1."""
    random = np.random.default_rng(seed)
    for weight in layer.weights:
        value = ops.convert_to_numpy(weight)
        weight.assign(value + random.normal(0, scale, value.shape).astype(value.dtype))
    return layer


def vectors(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def ids(batch_size, length, real=None, vocab_size=50, seed=0):
    """Random tokens; row i has `real[i]` of them and then padding."""
    tokens = np.random.default_rng(seed).integers(3, vocab_size, (batch_size, length))
    for row, count in enumerate(real or []):
        tokens[row, count:] = 0
    return tokens.astype("int32")


def pairs(seed=0, vocab_size=50):
    return {
        "source": ids(3, 7, [7, 4, 2], vocab_size, seed),
        "target": ids(3, 6, [6, 6, 3], vocab_size, seed + 1),
    }


def tensors(inputs):
    return {name: ops.array(value) for name, value in inputs.items()}


def array(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def gradients(layer, loss):
    """The gradient of `loss()` by each trainable weight of `layer`, as NumPy arrays."""
    variables = layer.trainable_weights
    if keras.backend.backend() == "jax":
        import jax

        def stateless(values):
            with keras.StatelessScope(list(zip(variables, values, strict=True))):
                return loss()

        found = jax.grad(stateless)([variable.value for variable in variables])
    else:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            value = loss()
        found = tape.gradient(value, [variable.value for variable in variables])
        found = [None if g is None else tf.convert_to_tensor(g) for g in found]
    return [None if g is None else ops.convert_to_numpy(g) for g in found]


def compiled(function):
    """`function` under XLA, on whichever backend is in use."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, jit_compile=True)


def check_layer(layer_class, settings, inputs, weights, tmp_path, output_width=None):
    """What every layer must do: serialise, stand in a Keras model, learn, keep its dtype.

    Args:
        settings: constructor arguments.
        inputs: NumPy arrays, one for each tensor that the layer takes.
        weights: how many weight arrays it has.
        output_width: width of its output; None: that of its first input.
    """
    layer = layer_class(**settings)
    expected = array(layer(*inputs))
    assert len(layer.weights) == weights
    assert expected.shape == (*inputs[0].shape[:2], output_width or inputs[0].shape[-1])

    # Its config makes an equal layer, and again an equal config.
    twin = layer_class.from_config(layer.get_config())
    assert twin.get_config() == layer.get_config()
    twin(*inputs)
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(array(twin(*inputs)), expected)

    # It stands in someone else's functional model of unknown length, learns there, is saved.
    places = [keras.Input((None, *x.shape[2:]), dtype=x.dtype) for x in inputs]
    model = keras.Model(places, keras.layers.Dense(1)(layer_class(**settings)(*places)))
    model.compile("sgd", "mse")
    model.fit(inputs, np.zeros((*inputs[0].shape[:2], 1)), verbose=0)
    model.save(tmp_path / "layer.keras")
    loaded = keras.saving.load_model(tmp_path / "layer.keras")
    np.testing.assert_allclose(
        loaded.predict(inputs, verbose=0), model.predict(inputs, verbose=0), atol=1e-6
    )

    # Mixed precision: half precision out, full precision weights, nothing overflows.
    mixed = layer_class(**settings, dtype="mixed_bfloat16")
    output = mixed(*inputs)
    assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"
    assert {weight.dtype for weight in mixed.weights} <= {"float32"}
    assert np.isfinite(array(output)).all()
    double = layer_class(**settings, dtype="float64")
    if keras.backend.backend() != "jax":  # which computes in float32 unless told otherwise
        assert keras.backend.standardize_dtype(double(*inputs).dtype) == "float64"
    return layer
