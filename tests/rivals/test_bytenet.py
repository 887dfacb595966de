import math

import numpy as np
import pytest
from support.models.rival_reference import (
    check_logits,
    convolution,
    linear,
    logits,
    normalized,
    source_matrix,
)

from t2t_keras.rivals.bytenet import ByteNetConfig


def forward(weights, config, source, target):
    """Returns logits `[target_length, vocabulary]` of one sentence pair (§3)."""

    def relu(name, x):
        return np.maximum(normalized(weights, name, x), 0)

    def block(name, x, dilation, before):
        y = linear(weights, f"{name}/narrow", relu(f"{name}/norm_0", x))
        y = relu(f"{name}/norm_1", y)
        y = convolution(weights, f"{name}/convolution", y, config.kernel, before, dilation)
        return x + linear(weights, f"{name}/widen", relu(f"{name}/norm_2", y))

    def dilations(layers):
        return [2 ** (i % (1 + int(math.log2(config.max_dilation)))) for i in range(layers)]

    unfolded = math.ceil(config.unfold_ratio * len(source))
    source = np.pad(source, (0, unfolded - len(source)))
    x = source_matrix(weights)[source] * np.sqrt(config.d_model)
    for i, dilation in enumerate(dilations(config.num_layers)):
        x = block(f"encoder_{i}", x, dilation, before=config.kernel // 2)

    y = weights["embedding/matrix"][target] * np.sqrt(config.d_model)
    both = min(len(x), len(y))
    y[:both] += x[:both]
    for i, dilation in enumerate(dilations(config.decoder_layers)):
        y = block(f"decoder_{i}", y, dilation, before=config.kernel - 1)
    return logits(weights, relu("output_norm", linear(weights, "output", y)))


@pytest.mark.parametrize(
    "name", [pytest.param("bytenet, other widths", marks=pytest.mark.jax), "bytenet"]
)
def test_logits_equal_those_of_the_formulas(name):
    check_logits(name, forward)


def test_the_dilations_are_those_of_the_paper():
    assert [ByteNetConfig().dilation(i) for i in range(30)] == [1, 2, 4, 8, 16] * 6


def test_sources_are_unfolded_exactly():
    """Rounding errors do not add a position: 1.2 · 5 is 6."""
    lengths = np.arange(200, dtype="int32")
    expected = (lengths * 6 + 4) // 5
    np.testing.assert_array_equal(ByteNetConfig().unfolded(lengths), expected)
    np.testing.assert_array_equal([ByteNetConfig().unfolded(n) for n in range(200)], expected)
