"""Compact weights need fewer bytes and change the logits little."""

import numpy as np
import pytest
import tensorflow as tf
from support.models.helpers import array, pairs, tensors, tiny_model

from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.export.saved_model import CompactWeights


@pytest.mark.long
@pytest.mark.parametrize(("dtype", "bytes_per_weight"), [("bfloat16", 2), ("int8", 1)])
def test_matrices_are_stored_in_fewer_bytes_and_logits_change_little(dtype, bytes_per_weight):
    model, inputs = tiny_model(num_layers=1), tensors(pairs())
    expected = array(model(inputs))
    weights = CompactWeights(model, dtype)
    matrices = [variable for variable in model.variables if len(variable.shape) > 1]
    stored = sum(parts[0].numpy().nbytes for parts in weights.stored)
    assert stored == bytes_per_weight * sum(np.size(matrix) for matrix in matrices)
    if dtype == "int8":  # a scale for each token, or for each output
        embedding = next(i for i, each in enumerate(matrices) if each is model.embedding.matrix)
        assert weights.stored[embedding][1].shape[0] == model.config.vocab_size
        others = [scale for i, (_, scale) in enumerate(weights.stored) if i != embedding]
        assert {each.shape[0] for each in others} == {1}
    function = tf.function(weights.used_by(lambda: model(inputs)), autograph=False)
    difference = np.abs(array(function()) - expected)
    assert 0 < difference.max() < 0.05 * expected.std()


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_exports_that_quantize_refuse_a_quantized_model(tmp_path):
    model = tiny_model(num_layers=1)
    model.quantize("int8", filters="query")
    with pytest.raises(ValueError, match=r"needs a model with weights in floats.*'int8'"):
        CompactWeights(model, "bfloat16")
    with pytest.raises(ValueError, match=r"An export for CTranslate2 needs .* in floats"):
        save_ctranslate2(model, [], tmp_path / "model")
