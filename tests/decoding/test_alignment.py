import numpy as np
from helpers import array, ids, tiny_model
from searches import as_graph

from t2t_keras.decoding.alignment import attention_between


def test_it_is_the_mean_cross_attention_of_the_penultimate_layer():
    model, source, target = tiny_model(num_layers=3), ids(2, 5, [5, 3]), ids(2, 4, [4, 3])
    attention = array(as_graph(lambda *ids: attention_between(model, *ids))(source, target))
    inputs = {"source": source, "target": np.insert(target[:, :-1], 0, 1, axis=1)}
    weights = as_graph(model.attention_weights)(inputs)
    expected = array(weights["decoder/1/cross_attention"]).mean(axis=1)
    np.testing.assert_allclose(attention, expected, atol=1e-6)
    np.testing.assert_allclose(attention.sum(-1), 1, atol=1e-5)
    assert not attention[1, :, 3:].any(), "no token attends to padding"


def test_a_model_with_one_decoder_layer_uses_that_layer():
    model = tiny_model(num_layers=1)
    attention = as_graph(lambda *ids: attention_between(model, *ids))(ids(1, 4), ids(1, 3))
    assert attention.shape == (1, 3, 4)
