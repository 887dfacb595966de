import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, ids, pairs, tiny_model

from t2t_keras import LabelSmoothedCrossEntropy


def test_dropout_acts_where_the_paper_applies_it():
    """On both sums of embeddings and positions, and on every sub-layer's output (§5.4)."""
    model = tiny_model(dropout=0.3, attention_dropout=0.2)
    assert (model.source_dropout.rate, model.target_dropout.rate) == (0.3, 0.3)
    tokens = ops.array(ids(2, 5))
    for embed in (model.embed_source, model.embed_target):
        full = array(embed(tokens))
        with_dropout = array(embed(tokens, training=True))
        dropped = with_dropout == 0
        assert 0.1 < dropped.mean() < 0.5
        np.testing.assert_allclose(with_dropout[~dropped], full[~dropped] / 0.7, rtol=1e-5)
    for stack in (model.encoder, model.decoder):
        for block in stack.blocks:
            assert block.self_attention.dropout.rate == block.feed_forward.dropout.rate == 0.3
            assert block.self_attention.sublayer.dropout.rate == 0.2
    assert model.decoder.blocks[1].cross_attention.dropout.rate == 0.3


def test_dropout_is_active_in_training_only():
    model, inputs = tiny_model(dropout=0.5, num_layers=1), pairs()
    np.testing.assert_array_equal(array(model(inputs)), array(model(inputs, training=False)))
    first, second = (array(model(inputs, training=True)) for _ in range(2))
    assert not np.allclose(first, second)


@pytest.mark.jax
def test_fit_trains_with_dropout_and_evaluates_without():
    model, inputs, loss = (
        tiny_model(dropout=0.5, num_layers=1),
        pairs(),
        LabelSmoothedCrossEntropy(),
    )
    eager = keras.backend.backend() == "tensorflow"  # tracing takes longer than the training
    model.compile(keras.optimizers.SGD(0.0), loss, run_eagerly=eager)
    without_dropout = float(loss(inputs["target"], model(inputs)))
    training_loss = model.fit(inputs, inputs["target"], verbose=0).history["loss"][0]
    evaluation_loss = model.evaluate(inputs, inputs["target"], verbose=0)
    assert abs(training_loss - without_dropout) > 1e-3
    assert evaluation_loss == pytest.approx(without_dropout, rel=1e-5)
