import numpy as np
import pytest
from support.models.helpers import tiny_model
from support.models.searches import SOURCE, model_that_ends, run_search, uncached_log_softmax

from t2t_keras.decoding.ensemble import Ensemble, mean_log_probabilities


@pytest.mark.long
def test_an_ensemble_follows_the_mean_of_the_log_probabilities():
    models = [model_that_ends(num_layers=1), model_that_ends(2, num_layers=1, d_model=8)]
    tokens = run_search(Ensemble(models), beam=1)[0][:, 0]
    log_p = sum(uncached_log_softmax(model, SOURCE, tokens) for model in models)
    log_p[..., :2] = -np.inf
    lengths = (tokens > 0).sum(-1)
    for row, likeliest, length in zip(tokens, log_p.argmax(-1), lengths, strict=True):
        np.testing.assert_array_equal(row[:length], likeliest[:length])
    assert lengths.max() >= 10
    assert not np.array_equal(tokens, run_search(models[0], beam=1)[0][:, 0])


def test_equal_models_have_the_log_probabilities_of_one():
    logits = np.random.default_rng(1).normal(size=(2, 5))
    alone = mean_log_probabilities([logits])
    np.testing.assert_allclose(np.exp(alone).sum(-1), 1, rtol=1e-6)
    np.testing.assert_allclose(mean_log_probabilities([logits] * 3), alone, rtol=1e-6)


def test_models_must_share_a_vocabulary():
    with pytest.raises(ValueError, match=r"one vocabulary.*\[40, 50\]"):
        Ensemble([model_that_ends(num_layers=1), tiny_model(num_layers=1)])
    with pytest.raises(ValueError, match="one or more models"):
        Ensemble([])


def test_the_smallest_length_limit_applies():
    limited = [
        tiny_model(num_layers=1, positions="learned", max_length=length) for length in (9, 12)
    ]
    assert Ensemble([*limited, tiny_model(num_layers=1)]).longest == 9
    assert Ensemble([tiny_model(num_layers=1)]).longest is None
