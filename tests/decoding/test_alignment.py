from types import SimpleNamespace

import numpy as np
import pytest
from support.models.helpers import array, ids, tiny_model

from t2t_keras.decoding.alignment import (
    AlignmentHead,
    alignment_heads,
    attention_between,
    chosen,
    cross_attention,
)


@pytest.fixture(scope="module")
def aligned():
    """A model with three layers, and its cross-attention in a sentence pair."""
    model, source, target = tiny_model(num_layers=3), ids(2, 5, [5, 3]), ids(2, 4, [4, 3])
    layers = cross_attention(model, source, target)
    return SimpleNamespace(model=model, source=source, target=target, layers=layers)


def test_it_is_the_mean_cross_attention_of_the_penultimate_layer(aligned):
    attention = array(attention_between(aligned.model, aligned.source, aligned.target))
    inputs = {"source": aligned.source, "target": np.insert(aligned.target[:, :-1], 0, 1, axis=1)}
    weights = aligned.model.attention_weights(inputs)
    expected = array(weights["decoder/1/cross_attention"]).mean(axis=1)
    np.testing.assert_allclose(attention, expected, atol=1e-6)
    np.testing.assert_allclose(attention.sum(-1), 1, atol=1e-5)
    assert not attention[1, :, 3:].any(), "no token attends to padding"
    assert AlignmentHead().layer_of(1) == 0


def test_a_choice_selects_layer_head_and_step(aligned):
    weights = array(aligned.layers[2])

    def selected(**choice):
        return array(chosen(aligned.layers, AlignmentHead(layer=2, **choice)))

    np.testing.assert_array_equal(selected(head=1), weights[:, 1])
    np.testing.assert_allclose(selected(), weights.mean(axis=1), atol=1e-6)
    # The step that reads a token comes after the one that writes it.
    np.testing.assert_array_equal(selected(head=1, shifted=True), weights[:, 1, [1, 2, 3, 3]])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"layer": 3}, "`layer` must be from 0 to 2 in this model. Received: layer=3"),
        ({"head": -1}, "`head` must be from 0 to 1 in this model. Received: head=-1"),
    ],
)
def test_a_layer_or_head_that_the_model_does_not_have_is_refused(aligned, choice, message):
    with pytest.raises(ValueError, match=message):
        attention_between(aligned.model, aligned.source, aligned.target, AlignmentHead(**choice))


def test_every_head_and_the_mean_of_each_layer_can_be_chosen(aligned):
    heads = alignment_heads(aligned.model.config)
    assert len(heads) == len(set(heads)) == 2 * 3 * (2 + 1)
