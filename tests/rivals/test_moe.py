import dataclasses

import numpy as np
from keras import ops
from support.models.helpers import array, ids
from support.models.rival_models import RIVALS

from t2t_keras.rivals.moe import MoE

CONFIG = dataclasses.replace(RIVALS["moe"][1], dropout=0.0)


def silenced(model, *names):
    """Sets the weights of some layers to 0, so that they put out zeros."""
    for weight in model.trainable_weights:
        if any(f"/{name}/" in f"/{weight.path}" for name in names):
            weight.assign(np.zeros(weight.shape, "float32"))
    return model


def test_inputs_pass_by_every_layer_of_the_same_width():
    model = silenced(MoE(CONFIG), "encoder_2", "encoder_experts", "decoder_0", "decoder_1")
    source, target = ids(2, 5), ids(2, 4, seed=1)
    x = model.source_embedding(ops.array(source))
    both = model.forward(x), model.backward(x, ops.full((2,), 5))
    first = model.encoder[0](ops.concatenate(both, axis=-1))
    np.testing.assert_allclose(array(model.encode(ops.array(source))), array(first), atol=1e-6)
    model = silenced(model, "decoder_experts")
    logits = model({"source": source, "target": target})
    embedded = model.embedding(ops.array(target))
    expected = model.output_embedding.project(ops.reshape(embedded, (-1, CONFIG.d_model)))
    np.testing.assert_allclose(array(logits), np.reshape(array(expected), logits.shape), atol=1e-6)
