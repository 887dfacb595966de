"""Random inputs, gradients on any backend, small models, and the contract of every layer."""

import keras
import numpy as np
from keras import ops

from t2t_keras import Transformer, TransformerConfig

TINY = {"vocab_size": 50, "num_layers": 2, "d_model": 16, "d_ff": 32, "num_heads": 2}

# The options that the paper's model does not have, all at once.
OTHER_SYSTEMS = {
    "positions": "concatenated",
    "position_offset": 1,
    "source_vocab_size": 40,
    "activation": "swish",
    "attention_bias": True,
    "output_bias": True,
    "pre_norm": True,
    "norm_epsilon": 0.1,  # large enough to affect the logits
    "decoder_layers": 1,
    "tie_output": False,
    "embedding_scale": 2.5,
    "source_end": False,
}


def tiny_model(dtype=None, **settings):
    return disturbed(Transformer(TransformerConfig(**{**TINY, **settings}), dtype=dtype))


def disturbed(layer, scale=0.1, seed=0):
    """Adds noise to every weight, so that no bias is 0 and no gain is 1."""
    random = np.random.default_rng(seed)
    for weight in layer.weights:
        value = ops.convert_to_numpy(weight)
        weight.assign(value + random.normal(0, scale, value.shape).astype(value.dtype))
    return layer


def vectors(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def ids(batch_size, length, real=None, vocab_size=50, seed=0):
    """Returns random tokens; row i has `real[i]` of them, followed by padding."""
    tokens = np.random.default_rng(seed).integers(3, vocab_size, (batch_size, length))
    for row, count in enumerate(real or []):
        tokens[row, count:] = 0
    return tokens.astype("int32")


def pairs(seed=0, vocab_size=50):
    """Returns inputs of a `Transformer`: three sentence pairs with padding."""
    return {
        "source": ids(3, 7, [7, 4, 2], vocab_size, seed),
        "target": ids(3, 6, [6, 6, 3], vocab_size, seed + 1),
    }


def tensors(inputs):
    return {name: ops.array(value) for name, value in inputs.items()}


def array(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def gradients(layer, loss):
    """Returns the gradient of `loss()` for each trainable weight of `layer`, as NumPy arrays."""
    variables = layer.trainable_weights
    if keras.backend.backend() == "jax":
        import jax

        def stateless(values):
            with keras.StatelessScope(list(zip(variables, values, strict=True))):
                return loss()

        values = jax.grad(stateless)([variable.value for variable in variables])
    else:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            value = loss()
        values = tape.gradient(value, [variable.value for variable in variables])
        values = [None if g is None else tf.convert_to_tensor(g) for g in values]
    return [None if g is None else ops.convert_to_numpy(g) for g in values]


def compiled(function, xla=True):
    """Compiles `function` on either backend; on TensorFlow also without XLA, which is faster."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, jit_compile=xla or None, reduce_retracing=not xla)


def check_layer(layer_class, settings, inputs, weights, tmp_path, output_width=None):
    """Checks the contract of every layer: serialization, use in a Keras model, training, dtypes.

    Args:
        layer_class: class of the layer.
        settings: constructor arguments.
        inputs: NumPy arrays, one for each tensor argument of the call.
        weights: expected number of weight arrays.
        tmp_path: a folder for files.
        output_width: expected width of the output. None: the width of the first input.

    Returns:
        A layer that has been called on the inputs.
    """
    layer = layer_class(**settings)
    expected = array(layer(*inputs))
    assert len(layer.weights) == weights
    assert expected.shape == (*inputs[0].shape[:2], output_width or inputs[0].shape[-1])

    # Its config recreates the layer.
    twin = layer_class.from_config(layer.get_config())
    assert twin.get_config() == layer.get_config()
    twin(*inputs)
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(array(twin(*inputs)), expected)

    # It trains and is saved inside a functional model of unknown length.
    symbols = [keras.Input((None, *x.shape[2:]), dtype=x.dtype) for x in inputs]
    model = keras.Model(symbols, keras.layers.Dense(1)(layer_class(**settings)(*symbols)))
    eager = keras.backend.backend() == "tensorflow"  # tracing takes longer than the training
    model.compile("sgd", "mse", run_eagerly=eager)
    model.fit(inputs, np.zeros((*inputs[0].shape[:2], 1)), verbose=0)
    model.save(tmp_path / "layer.keras")
    loaded = keras.saving.load_model(tmp_path / "layer.keras")
    np.testing.assert_allclose(array(loaded(inputs)), array(model(inputs)), atol=1e-6)

    # Mixed precision: half precision outputs, full precision weights, no overflow.
    mixed = layer_class(**settings, dtype="mixed_bfloat16")
    output = mixed(*inputs)
    assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"
    assert {weight.dtype for weight in mixed.weights} <= {"float32"}
    assert np.isfinite(array(output)).all()
    if keras.backend.backend() != "jax":  # JAX computes in float32 by default
        double = layer_class(**settings, dtype="float64")
        assert keras.backend.standardize_dtype(double(*inputs).dtype) == "float64"
    return layer
