"""Gradients over distance: how far they reach in encoders with random weights."""

import numpy as np
import pytest
from support.models.rival_models import RIVALS, rival

from t2t_keras import Transformer, TransformerConfig
from t2t_keras.reproduction.claims import gradient_reach
from t2t_keras.reproduction.claims.gradient_reach import gradient_norms

SOURCE = np.array([[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 2]], "int32")
MIDDLE = 5


def felt(model):
    """Returns how far to the left and to the right each layer's middle vector depends on words."""
    norms = gradient_norms(model, SOURCE, np.array([MIDDLE]), np.random.default_rng(0))
    reached = [np.flatnonzero(layer[0]) for layer in norms]
    assert len(reached) == model.config.num_layers
    return [(MIDDLE - layer[0], layer[-1] - MIDDLE) for layer in reached]


def transformer(**settings):
    sizes = {"vocab_size": 50, "num_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 2}
    return Transformer(TransformerConfig(**sizes, **settings))


@pytest.mark.long
@pytest.mark.parametrize("name", ["gnmt, fast-forward", "moe"])
def test_a_recurrent_encoder_feels_everything(name):
    assert felt(rival(name)) == [(5, 5)] * 3


def test_self_attention_feels_everything_unless_it_is_restricted():
    assert felt(transformer()) == [(5, 5)] * 2
    assert felt(transformer(neighbourhood=3)) == [(1, 1), (2, 2)]


@pytest.mark.long
def test_convolutions_reach_further_with_each_layer_and_dilation():
    config = RIVALS["convs2s"][1]
    reach = [sum(kernel // 2 for _, kernel in config.shapes(4)[: k + 1]) for k in range(4)]
    assert felt(rival("convs2s")) == [(each, each) for each in reach]
    assert felt(rival("bytenet")) == [(1, 1), (3, 3), (4, 4), (5, 5)], "dilations 1, 2, 1, 2"


def test_gradients_are_averaged_by_distance(monkeypatch):
    class FakeRun:
        source = property(lambda self: self)
        config = type("Config", (), {"num_layers": 2})

        def __init__(self, folder):
            assert folder == "run"

        def loaded(self, step):
            return self

        def tokenizer(self):
            return self

        def encode(self, lines):
            return [[5] * len(line.split()) for line in lines]

    def norms(model, source, queries, random):
        distances = np.abs(queries[:, None] - np.arange(source.shape[1]))
        return np.array([distances, 3 * distances])

    monkeypatch.setattr(gradient_reach, "Run", FakeRun)
    monkeypatch.setattr(gradient_reach, "gradient_norms", norms)
    lines = ["a b c d e", "a"]  # and their ends
    found = gradient_reach.gradients_over_distance("run", 7, lines)
    np.testing.assert_array_equal(found, [[0, 1, 2, 3, 4, 5], [0, 3, 6, 9, 12, 15]])
