import numpy as np
from helpers import array, ids, tiny_model
from keras import ops

from t2t_keras.decoding.alignment import attention_between


def test_it_is_what_the_last_layer_but_one_looked_at_while_it_wrote():
    model, source, target = tiny_model(num_layers=3), ids(2, 5, [5, 3]), ids(2, 4, [4, 3])
    found = array(attention_between(model, ops.array(source), ops.array(target)))
    read = np.array([[1, *row[:-1]] for row in target], "int32")
    weights = model.attention_weights({"source": ops.array(source), "target": ops.array(read)})
    expected = array(weights["decoder/1/cross_attention"]).mean(axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    assert not found[1, :, 3:].any(), "nothing looks at padding"


def test_of_a_single_layer_it_is_that_one():
    model = tiny_model(num_layers=1)
    found = attention_between(model, ops.array(ids(1, 4)), ops.array(ids(1, 3)))
    assert found.shape == (1, 3, 4)
