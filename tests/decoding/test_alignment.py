import numpy as np
import pytest
from support.models.helpers import array, ids, tiny_model
from support.models.searches import as_graph

from t2t_keras.decoding.alignment import AlignmentHead, alignment_heads, attention_between


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


@pytest.mark.long
def test_a_choice_selects_layer_head_and_step():
    model, source, target = tiny_model(num_layers=2), ids(2, 5), ids(2, 4)
    inputs = {"source": source, "target": np.insert(target[:, :-1], 0, 1, axis=1)}
    weights = array(as_graph(model.attention_weights)(inputs)["decoder/1/cross_attention"])

    def between(**choice):
        choice = AlignmentHead(layer=1, **choice)
        return array(as_graph(lambda *ids: attention_between(model, *ids, choice))(source, target))

    np.testing.assert_allclose(between(head=1), weights[:, 1], atol=1e-6)
    np.testing.assert_allclose(between(), weights.mean(axis=1), atol=1e-6)
    # The step that reads a token comes after the one that writes it.
    expected = weights[:, 1, [1, 2, 3, 3]]
    np.testing.assert_allclose(between(head=1, shifted=True), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"layer": 2}, "`layer` must be from 0 to 1 in this model. Received: layer=2"),
        ({"head": -1}, "`head` must be from 0 to 1 in this model. Received: head=-1"),
    ],
)
def test_a_layer_or_head_that_the_model_does_not_have_is_refused(choice, message):
    with pytest.raises(ValueError, match=message):
        attention_between(tiny_model(num_layers=2), ids(1, 4), ids(1, 3), AlignmentHead(**choice))


def test_every_head_and_the_mean_of_each_layer_can_be_chosen():
    heads = alignment_heads(tiny_model(num_layers=2).config)
    assert len(heads) == len(set(heads)) == 2 * 2 * (2 + 1)
