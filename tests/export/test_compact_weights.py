"""Compact weights need fewer bytes and change the logits little."""

import numpy as np
import pytest
import tensorflow as tf
from support.models.helpers import array, pairs, tensors, tiny_model

from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.export.saved_model import compact_weights


@pytest.mark.long
@pytest.mark.parametrize(("dtype", "bytes_per_weight"), [("bfloat16", 2), ("int8", 1)])
def test_matrices_are_stored_in_fewer_bytes_and_logits_change_little(dtype, bytes_per_weight):
    model, inputs = tiny_model(num_layers=1), tensors(pairs())
    expected = array(model(inputs))
    used_by, weights = compact_weights(model, dtype)
    matrices = {n: each for n, each in enumerate(model.variables) if len(each.shape) > 1}
    stored = sum(parts[0].numpy().nbytes for parts in weights.values())
    assert stored == bytes_per_weight * sum(np.size(matrix) for matrix in matrices.values())
    if dtype == "int8":  # a scale for each token, or for each output
        sizes = {n: scale.shape[0] for n, (_, scale) in weights.items()}
        (embedding,) = (n for n, each in matrices.items() if each is model.embedding.matrix)
        assert sizes.pop(embedding) == model.config.vocab_size and {*sizes.values()} == {1}
    function = tf.function(used_by(lambda: model(inputs)), autograph=False)
    assert 0 < np.abs(array(function()) - expected).max() < 0.05 * expected.std()


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_exports_that_quantize_refuse_a_quantized_model(tmp_path):
    model = tiny_model(num_layers=1)
    model.quantize("int8", filters="query")
    with pytest.raises(ValueError, match=r"needs a model with weights in floats.*'int8'"):
        compact_weights(model, "bfloat16")
    with pytest.raises(ValueError, match=r"An export for CTranslate2 needs .* in floats"):
        save_ctranslate2(model, [], tmp_path / "model")
