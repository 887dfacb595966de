import keras
import numpy as np
import pytest
from support.models.helpers import array, compiled, ids, tiny_model
from support.models.searches import run_search, uncached_log_p

from t2t_keras.decoding.rows import length_penalty
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.decoding.search_config import SearchConfig


def with_end(tokens):
    """Adds an end after the tokens of each row."""
    tokens = np.pad(tokens, [(0, 0), (0, 1)])
    tokens[np.arange(len(tokens)), (tokens != 0).sum(1)] = 2
    return tokens


SOURCE = with_end(ids(3, 7, [7, 4, 0]))
TARGET = with_end(ids(3, 5, [2, 5, 0], seed=1))


@pytest.mark.parametrize(
    "dtype", [pytest.param("float32", marks=pytest.mark.jax), "mixed_bfloat16"]
)
def test_log_p_equals_the_log_softmax_in_float64(dtype):
    model = tiny_model(dtype=dtype, num_layers=1)
    log_p = compiled(lambda *pair: log_probabilities(model, *pair), xla=False)(SOURCE, TARGET)
    assert keras.backend.standardize_dtype(log_p.dtype) == "float32"
    expected = np.where(TARGET, uncached_log_p(model, SOURCE, TARGET), 0)
    np.testing.assert_allclose(array(log_p), expected, atol=1e-5)


def test_the_scores_of_a_beam_search_equal_those_of_forced_decoding():
    model = tiny_model(num_layers=1)
    tokens, scores = run_search(model, SOURCE, 12, n_best=4, extra_length=6)
    function = compiled(lambda *pair: log_probabilities(model, *pair), xla=False)
    for rank in range(4):
        exist = np.isfinite(scores[:, rank])
        target = tokens[:, rank]
        log_p = array(function(SOURCE, target)).sum(1)
        expected = scores[:, rank] * array(length_penalty((target != 0).sum(1), SearchConfig()))
        np.testing.assert_allclose(log_p[exist], expected[exist], atol=1e-4)
        assert rank or exist.all()
