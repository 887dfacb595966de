import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, compiled, disturbed, vectors

from t2t_keras.rivals.sparse_experts import SparseExperts


def expected(layer, x):
    """Computes each token by its own experts, one after another."""
    gate, inner, outer = (array(each) for each in (layer.gate, layer.inner, layer.outer))
    outputs = np.zeros_like(x)
    for index in np.ndindex(x.shape[:-1]):
        rates = x[index] @ gate
        best = np.argsort(-rates)[: layer.chosen]
        weights = np.exp(rates[best] - rates[best].max())
        for expert, weight in zip(best, weights / weights.sum(), strict=True):
            outputs[index] += weight * (np.maximum(x[index] @ inner[expert], 0) @ outer[expert])
    return outputs


@pytest.mark.parametrize(
    ("experts", "chosen", "shape"), [(5, 2, (2, 9, 6)), (3, 3, (1, 6)), (6, 1, (4, 9, 6))]
)
def test_each_token_is_computed_by_the_experts_that_its_gate_rates_highest(experts, chosen, shape):
    layer, x = SparseExperts(experts, chosen, units=7), np.abs(vectors(*shape))
    layer.build(x.shape)
    disturbed(layer, scale=0.5)
    if chosen == 1:  # all tokens choose the same expert
        layer.gate.assign(np.eye(6)[[4] * 6])
    function = layer if len(shape) == 2 else compiled(layer)
    outputs = array(function(x))
    np.testing.assert_allclose(outputs, expected(layer, x), atol=1e-5)
    assert outputs.any(axis=-1).all()


def losses_of(layer, x, mask=None):
    with keras.StatelessScope(collect_losses=True) as scope:
        layer(x, mask=mask, training=True)
    (loss,) = scope.losses
    return float(array(loss))


def test_the_losses_are_small_if_the_experts_are_used_equally():
    x = np.abs(vectors(400, 6))
    layer = SparseExperts(4, 2, units=3, balance=1.0)
    layer.build(x.shape)
    equal = losses_of(layer, x)
    gate = np.zeros((6, 4), "float32")
    gate[:, :2] = 3
    layer.gate.assign(gate)
    unequal = losses_of(layer, x)
    assert equal < 0.05
    assert unequal > 1.5  # half of the experts do everything: a variation of 1 in both losses


def test_padding_counts_in_no_loss():
    x = np.abs(vectors(2, 200, 6))
    layer = SparseExperts(4, 1, units=3, balance=1.0)
    layer.build(x.shape)
    gate = np.zeros((6, 4), "float32")
    gate[:, 0], gate[0, 0] = 5, -5
    layer.gate.assign(gate)
    x[1, :, 0] = 100  # avoids expert 0
    mask = np.array([[True], [False]]).repeat(200, axis=1)
    alone = losses_of(layer, x[:1])
    np.testing.assert_allclose(losses_of(layer, x, ops.array(mask)), alone, rtol=0.05)
    assert losses_of(layer, x) < 0.8 * alone


@pytest.mark.jax
def test_contract_of_a_layer(tmp_path):
    settings = {"experts": 4, "chosen": 2, "units": 8}
    check_layer(SparseExperts, settings, [vectors(2, 5, 6)], weights=4, tmp_path=tmp_path)
