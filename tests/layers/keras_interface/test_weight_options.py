import itertools

import keras
import numpy as np
import pytest
from support.models.helpers import array, pairs, tiny_model

from t2t_keras import LabelSmoothedCrossEntropy
from t2t_keras.layers import DecoderBlock, Encoder, FeedForward, LocalSelfAttention, SharedEmbedding

BLOCK = {"d_model": 8, "d_ff": 16, "num_heads": 2}
OPTIONS = {
    "kernel_initializer": keras.initializers.HeNormal(),
    "bias_initializer": keras.initializers.Constant(0.5),
    "kernel_regularizer": keras.regularizers.L2(0.1),
    "bias_regularizer": keras.regularizers.L1,
    "kernel_constraint": "max_norm",
    "bias_constraint": keras.constraints.NonNeg(),
}
LAYERS = {
    "attention": (
        LocalSelfAttention,
        {"num_heads": 2, "d_model": 8, "neighbourhood": 3, "use_bias": True},
        4,
    ),
    "feed_forward": (FeedForward, {"d_model": 8, "d_ff": 16}, 2),
    "decoder_block": (DecoderBlock, BLOCK, 10),
    "encoder": (Encoder, {"num_layers": 2, **BLOCK, "causal": True, "attention_bias": True}, 12),
}


@pytest.mark.parametrize("name", LAYERS)
def test_options_reach_every_kernel_and_are_saved(name):
    layer_class, settings, kernels = LAYERS[name]
    assert not OPTIONS.keys() & layer_class(**settings).get_config().keys()
    layer = layer_class(**settings, **OPTIONS)
    twin = layer_class.from_config(layer.get_config())
    assert twin.get_config() == layer.get_config()
    shapes = [(None, None, 8)] * (2 if name == "decoder_block" else 1)
    for each in (layer, twin):
        each.build(*shapes)
        found = {
            kind: [w for w in each.weights if w.path.endswith(kind)] for kind in ("kernel", "bias")
        }
        assert len(found["kernel"]) == kernels
        for one, other in itertools.combinations([array(w) for w in found["kernel"]], 2):
            assert one.shape != other.shape or not np.array_equal(one, other)
        for weight in found["kernel"]:
            assert weight.regularizer.l2 == np.float32(0.1)
            assert isinstance(weight.constraint, keras.constraints.MaxNorm)
        for weight in found["bias"]:
            assert isinstance(weight.regularizer, keras.regularizers.L1)
            assert isinstance(weight.constraint, keras.constraints.NonNeg)
            assert (array(weight) == 0.5).all()


def test_the_embedding_has_options():
    layer = SharedEmbedding(
        vocab_size=20,
        d_model=8,
        embeddings_initializer="ones",
        embeddings_regularizer=keras.regularizers.L2(0.5),
        embeddings_constraint="unit_norm",
    )
    for each in (layer, SharedEmbedding.from_config(layer.get_config())):
        each.build((None, None))
        assert (array(each.matrix) == 1).all()
        assert each.matrix.regularizer.l2 == 0.5
        assert isinstance(each.matrix.constraint, keras.constraints.UnitNorm)


@pytest.mark.jax
@pytest.mark.long
def test_a_penalty_counts_once_in_the_training_step():
    """Its projections are one product."""
    changes, eager = [], keras.backend.backend() == "tensorflow"  # tracing takes longer
    for regularizer in (None, keras.regularizers.L2(0.01)):
        keras.utils.set_random_seed(0)
        model = tiny_model(dropout=0.0, num_layers=1)
        for weight in model.trainable_weights:
            weight.regularizer = regularizer if weight.path.endswith("kernel") else None
        before = [array(w) for w in model.trainable_weights]
        model.compile(keras.optimizers.SGD(1.0), LabelSmoothedCrossEntropy(), run_eagerly=eager)
        model.train_on_batch(pairs(), pairs()["target"])
        changes.append([array(w) - b for w, b in zip(model.trainable_weights, before, strict=True)])
    for weight, old, without, penalized in zip(
        model.trainable_weights, before, *changes, strict=True
    ):
        rate = 0.02 if weight.path.endswith("kernel") else 0.0
        np.testing.assert_allclose(penalized, without - rate * old, atol=1e-5)
