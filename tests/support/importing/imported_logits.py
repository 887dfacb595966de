"""Compares logits of an imported model with the NumPy forward pass on the other system's arrays."""

import numpy as np
from support.models.helpers import array
from support.models.reference import forward

from t2t_keras.transformer import Transformer
from t2t_keras.transformer_config import TransformerConfig


def model_of(imported):
    """Returns a model with the imported weights."""
    model = Transformer(imported.config)
    paths = {weight.path.split("/", 1)[1]: weight for weight in model.weights if weight.trainable}
    assert paths.keys() == imported.weights.keys()
    for path, weight in paths.items():
        weight.assign(imported.weights[path].read())
    return model


def check_logits(imported, weights, settings):
    """Compares logits with those of `reference.forward`.

    Args:
        imported: the `Imported` model.
        weights: {path: array} for the reference, in our order of ids.
        settings: of the `TransformerConfig` that the model must have; dropout aside.
    """
    config = TransformerConfig(**settings, dropout=imported.config.dropout).resolved()
    assert imported.config.resolved() == config
    random = np.random.default_rng(1)
    source = random.integers(3, config.source_vocab_size or config.vocab_size, (2, 7))
    source[0, -1], source[1, 4], source[1, 5:] = 2, 2, 0
    target = random.integers(3, config.vocab_size, (2, 6))
    target[:, 0] = 1
    weights = {path: np.asarray(array, "float64") for path, array in weights.items()}
    expected = forward(weights, config, source, target)
    assert expected[:, :, 4:].std() > 0.5
    result = array(model_of(imported)({"source": source, "target": target}))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
