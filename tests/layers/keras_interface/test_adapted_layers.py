"""Quantized layers and LoRA inside our layers and models, saved and loaded again."""

import copy
import pickle

import keras
import numpy as np
import pytest
from support.models.helpers import TINY, array, pairs, tensors, tiny_model, vectors
from support.models.rival_models import rival

from t2t_keras import TransformerConfig
from t2t_keras.layers import Encoder, MultiHeadAttention, Residual
from t2t_keras.training.step.trainable_models import trainable
from t2t_keras.transformer import Transformer

no_warnings = pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")


def saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.keras")
    return keras.saving.load_model(tmp_path / "model.keras")


def integers(model):
    return sum("int8" in weight.dtype for weight in model.weights)


@pytest.mark.long
@no_warnings
@pytest.mark.parametrize("name", ["transformer", "gnmt"])
def test_a_model_in_int8_is_loaded_with_the_same_logits(name, tmp_path):
    model = tiny_model(num_layers=1) if name == "transformer" else rival(name)
    inputs = tensors(pairs())
    exact = array(model(inputs))
    model.quantize("int8")
    quantized = array(model(inputs))
    assert 0 < np.abs(quantized - exact).max() < 0.05 * np.abs(exact).max()
    loaded = saved_and_loaded(model, tmp_path)
    assert integers(loaded) == integers(model)
    np.testing.assert_array_equal(array(loaded(inputs)), quantized)
    if name == "transformer":
        assert integers(model) == 6 + 10 + 1, "in the encoder, the decoder and the embedding"
        memory, cache = model.start_decoding(inputs["source"], max_length=1)
        logits, _ = model.decode_step(inputs["target"][:, 0], 0, cache, memory)
        np.testing.assert_allclose(array(logits), quantized[:, 0], atol=1e-5)


def test_frozen_inner_layers_stay_frozen(tmp_path):
    """Also if a layer inside a frozen one is trained."""
    settings = {"d_model": 16, "d_ff": 8, "num_heads": 2}
    encoder, residual = Encoder(1, **settings), Residual(MultiHeadAttention(2, 16))
    inputs = keras.Input((None, 16))
    model = keras.Model(inputs, residual(encoder(inputs)))
    assert "adapted" not in str(model.get_config())
    encoder.blocks[0].trainable = False
    encoder.blocks[0].self_attention.sublayer.query.trainable = True
    residual.trainable = False
    expected = [w.trainable for w in model.weights]
    assert expected.count(False) == (12 - 1) + 6
    for twin in (saved_and_loaded(model, tmp_path), keras.models.clone_model(model)):
        assert [w.trainable for w in twin.weights] == expected


def test_lora_is_merged_and_loaded(tmp_path):
    model, inputs = tiny_model(num_layers=1), tensors(pairs())
    exact = array(model(inputs))
    attention = model.encoder.blocks[0].self_attention.sublayer
    attention.query.enable_lora(2)
    attention.value.enable_lora(2)
    attention.query.lora_kernel_b.assign(vectors(*attention.query.lora_kernel_b.shape))
    changed = array(model(inputs))
    assert np.abs(changed - exact).max() > 0.01
    loaded = saved_and_loaded(model, tmp_path)
    np.testing.assert_allclose(array(loaded(inputs)), changed, atol=1e-5)
    assert [w.path for w in loaded.trainable_weights] == [w.path for w in model.trainable_weights]
    again = loaded.encoder.blocks[0].self_attention.sublayer.query
    assert again.lora_enabled and not array(again.lora_kernel_b).any(), "Keras merges it"


def test_a_policy_of_integers_is_refused():
    with pytest.raises(ValueError, match=r"`dtype` must be a policy of floats\. `model.quantize`"):
        tiny_model(dtype="int8_from_float32")


def test_a_model_is_pickled_and_copied():
    config = TransformerConfig(**{**TINY, "num_layers": 1})
    model, inputs = trainable(Transformer)(config), tensors(pairs())
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert type(twin) is type(model)
        np.testing.assert_array_equal(array(twin(inputs)), array(model(inputs)))


@pytest.mark.long
@no_warnings
def test_joined_projections_in_training_leave_integers_alone():
    attention, x = MultiHeadAttention(num_heads=2, d_model=16), vectors(2, 5, 16)
    attention(x)
    attention.value.quantize("int8")
    np.testing.assert_allclose(array(attention(x, training=True)), array(attention(x)), atol=1e-6)
