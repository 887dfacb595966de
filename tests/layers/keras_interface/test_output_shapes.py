import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, ids, tiny_model, vectors
from support.models.rival_models import rival

from t2t_keras import Transformer, TransformerConfig
from t2t_keras.layers import (
    Decoder,
    FeedForward,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    Residual,
    SharedEmbedding,
)

BLOCK = {"d_model": 8, "d_ff": 16, "num_heads": 2}


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (lambda: MultiHeadAttention(2, 8), [vectors(2, 4, 6), vectors(2, 5, 7)]),
        (lambda: FeedForward(8, 16), [vectors(2, 4, 6)]),
        (lambda: Residual(MultiHeadAttention(2, 8)), [vectors(2, 4, 8), vectors(2, 5, 7)]),
        (lambda: Decoder(2, **BLOCK), [vectors(2, 4, 8), vectors(2, 5, 8)]),
        (lambda: SharedEmbedding(20, 8), [ids(2, 4, vocab_size=20)]),
        (lambda: SharedEmbedding(20, 8).project, [vectors(2, 4, 8)]),
        (lambda: LearnedPositionalEncoding(9), [vectors(2, 4, 8)]),
    ],
)
def test_the_shape_of_the_output_is_known_without_a_call(make, inputs):
    layer = make()
    found = tuple(layer(*map(ops.array, inputs)).shape)
    layer = getattr(layer, "__self__", layer)
    assert layer.compute_output_shape(*(x.shape for x in inputs)) == found
    unknown = layer.compute_output_shape(*((None, None, *x.shape[2:]) for x in inputs))
    assert unknown == (None, None, *found[2:])


def test_shapes_may_have_names_in_any_order():
    shapes = {"value_shape": (2, 9, 8), "query_shape": (2, 5, 8)}
    assert MultiHeadAttention(2, 8).compute_output_shape(**shapes) == (2, 5, 8)


def summary(model):
    lines = []
    model.summary(print_fn=lambda line, line_break=None: lines.append(line))
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["transformer", "moe", "convs2s, other widths", "bytenet"])
def test_a_summary_shows_every_shape(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    if name == "transformer":
        model = tiny_model(positions="none", tie_output=False, source_vocab_size=40)
    else:
        model = rival(name)
    text = summary(model)
    assert "?" not in text
    for layer in model.layers:
        assert layer.name in text
    if not model.config.tie_output:
        assert f"(None, None, {model.config.vocab_size})" in text


@pytest.mark.long
@pytest.mark.jax
def test_a_transformer_is_a_layer_of_a_functional_model():
    """Its symbolic outputs have the dtype and the shape of the real ones."""
    config = TransformerConfig(vocab_size=50, num_layers=1, **BLOCK)
    names = "source", "target"
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    transformer = Transformer(config, dtype="mixed_bfloat16")
    logits, vectors_ = transformer(inputs), transformer(inputs, project=False)
    assert (logits.shape, logits.dtype) == ((None, None, 50), "float32")
    assert (vectors_.shape, vectors_.dtype) == ((None, None, 8), "bfloat16")
    model = keras.Model(inputs, logits)
    arrays = {"source": ids(2, 4), "target": ids(2, 5)}
    np.testing.assert_array_equal(array(model(arrays)), array(transformer(arrays)))
