import numpy as np
import pytest
from support.models.rival_models import rival
from support.models.rival_reference import (
    check_logits,
    convolution,
    linear,
    logits,
    sigmoid,
    softmax,
    source_matrix,
)

from t2t_keras.rivals.convs2s import ConvS2SConfig


def forward(weights, config, source, target):
    """Returns logits `[target_length, vocabulary]` of one sentence pair (§3)."""

    def embed(matrix, ids, positions):
        vectors = 0.1 * np.sqrt(config.d_model) * matrix[ids]
        return vectors + weights[f"{positions}/table"][: len(ids)]

    def gated(name, x, kernel, before):
        both = convolution(weights, f"{name}/convolution", x, kernel, before)
        values, gates = np.split(both, 2, axis=1)
        return values * sigmoid(gates)

    def joined(name, x, y):
        if f"{name}/shortcut/kernel" in weights:
            x = linear(weights, f"{name}/shortcut", x)
        return (x + y) / np.sqrt(2)

    e = embed(source_matrix(weights), source, "source_positions")
    z = linear(weights, "encoder_input", e)
    for i, (_, kernel) in enumerate(config.shapes(config.num_layers)):
        name = f"encoder_{i}_convolution"
        z = joined(name, z, gated(name, z, kernel, before=kernel // 2))
    z = linear(weights, "encoder_output", z)

    g = embed(weights["embedding/matrix"], target, "target_positions")
    h = linear(weights, "decoder_input", g)
    for i, (_, kernel) in enumerate(config.shapes(config.decoder_layers)):
        name, attention = f"decoder_{i}_convolution", f"decoder_{i}_attention"
        y = gated(name, h, kernel, before=kernel - 1)
        d = (linear(weights, f"{attention}/query", y) + g) / np.sqrt(2)
        context = softmax(d @ z.T) @ ((z + e) / np.sqrt(2)) * np.sqrt(len(source))
        y = (y + linear(weights, f"{attention}/output", context)) / np.sqrt(2)
        h = joined(name, h, y)
    return logits(weights, linear(weights, "decoder_output", h))


@pytest.mark.parametrize(
    "name", [pytest.param("convs2s", marks=pytest.mark.jax), "convs2s, other widths"]
)
def test_logits_equal_those_of_the_formulas(name):
    check_logits(name, forward)


def test_the_layers_are_those_of_the_paper():
    assert ConvS2SConfig().shapes(15) == [(512, 3)] * 10 + [(768, 3)] * 3 + [(2048, 1)] * 2


def test_dividing_keeps_the_proportions():
    config = ConvS2SConfig().divided(widths=4, layers=3)
    assert config.d_model == 128
    assert config.shapes(5) == [(128, 3)] * 3 + [(192, 3), (512, 1)]


def test_a_target_longer_than_the_positions_is_refused():
    with pytest.raises(ValueError, match="at most 32 positions"):
        rival("convs2s").start_decoding(np.array([[5, 2]]), max_length=33)
