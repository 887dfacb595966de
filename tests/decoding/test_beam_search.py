"""Beam search beside the search of everything."""

import itertools

import numpy as np
import pytest
from helpers import array, compiled, tiny_model
from keras import ops

from t2t_keras.decoding import search as searches
from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.search_config import SearchConfig

SOURCE = np.array([[5, 4, 3, 2], [4, 2, 0, 0], [3, 5, 2, 0]], "int32")
SMALL = {"vocab_size": 6, "output_bias": True}


def search(model, source, max_length, **settings):
    found = searches.search(model, ops.array(source), max_length, SearchConfig(**settings))
    return array(found.tokens), array(found.scores)


def lively_model(seed=0, **settings):
    """Logits far apart, and an end that is neither at once nor never."""
    model = tiny_model(**{**SMALL, **settings})
    random = np.random.default_rng(seed)
    bias = random.normal(size=model.config.vocab_size).astype("float32")
    bias[:2] = -30  # neither padding nor begin
    model.embedding.bias.assign(bias)
    model.embedding.matrix.assign(model.embedding.matrix * 3)
    return model


def everything(model, source, limit, alpha):
    """All hypotheses that end within the limit, by their score; through the uncached model."""
    words = [token for token in range(model.config.vocab_size) if token != 2]
    targets = [
        (*middle, 2)
        for length in range(limit)
        for middle in itertools.product(words, repeat=length)
    ]
    padded = np.array([target + (0,) * (limit - len(target)) for target in targets], "int32")
    inputs = np.insert(padded[:, :-1], 0, 1, axis=1)
    logits = array(model({"source": np.repeat(source[None], len(padded), 0), "target": inputs}))
    logits = logits.astype("float64")
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    of_tokens = np.take_along_axis(log_p, padded[..., None], axis=-1)[..., 0]
    lengths = np.array([len(target) for target in targets])
    within = np.arange(limit) < lengths[:, None]
    scores = (of_tokens * within).sum(-1) / ((5 + lengths) / 6) ** alpha
    order = np.argsort(-scores)
    return padded[order], scores[order]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_beam_that_is_wide_enough_finds_the_best_of_all(alpha):
    model = lively_model()
    tokens, scores = search(model, SOURCE, 4, beam=6**4, alpha=alpha, n_best=5, extra_length=10)
    for row, source in enumerate(SOURCE):
        expected, expected_scores = everything(model, source, 4, alpha)
        np.testing.assert_array_equal(tokens[row], expected[:5])
        np.testing.assert_allclose(scores[row], expected_scores[:5], atol=1e-4)


@pytest.mark.one_backend
@pytest.mark.parametrize("alpha", [0.0, 0.6])
@pytest.mark.parametrize("n_best", [1, 3])
def test_stopping_early_changes_nothing(alpha, n_best):
    for seed in range(2):
        model = lively_model(seed, vocab_size=12)
        early, late = (
            search(model, SOURCE, 12, alpha=alpha, n_best=n_best, early_stopping=stop)
            for stop in (True, False)
        )
        np.testing.assert_array_equal(early[0], late[0])
        np.testing.assert_allclose(early[1], late[1], atol=1e-6)


def test_the_hypotheses_are_sorted_and_differ():
    tokens, scores = search(lively_model(vocab_size=12), SOURCE, 12, n_best=4)
    for hypotheses, of_sentence in zip(tokens, scores, strict=True):
        exist = np.isfinite(of_sentence)
        assert exist[0] and (np.diff(of_sentence[exist]) <= 0).all()
        assert len({tuple(hypothesis) for hypothesis in hypotheses[exist]}) == exist.sum()


@pytest.mark.one_backend
def test_neither_order_nor_company_nor_padding_changes_a_result():
    model = lively_model(vocab_size=12)
    tokens, scores = search(model, SOURCE, 12, n_best=2)
    backwards, _ = search(model, SOURCE[::-1], 12, n_best=2)
    np.testing.assert_array_equal(backwards[::-1], tokens)
    for row, source in enumerate(SOURCE):
        bare = source[source > 0][None]
        alone, alone_scores = search(model, bare, 12, n_best=2)
        np.testing.assert_array_equal(alone[0], tokens[row])
        np.testing.assert_allclose(alone_scores[0], scores[row], atol=1e-5)


def test_each_sentence_has_its_own_limit_and_is_cut_off_there():
    model = lively_model(vocab_size=40)
    bias = array(model.embedding.bias)
    bias[2] = -100  # nothing ever ends
    model.embedding.bias.assign(bias)
    tokens, scores = search(model, SOURCE, 20, extra_length=2, n_best=4)
    np.testing.assert_array_equal((tokens > 0).sum(-1), [[6] * 4, [4] * 4, [5] * 4])
    assert np.isfinite(scores).all()


def test_a_beam_of_one_is_greedy_where_no_length_is_preferred():
    model = lively_model(vocab_size=12)
    config = SearchConfig(beam=1, alpha=0.0)
    method = BeamSearch(model, config)
    state = searches.advance(method, method.start(ops.array(SOURCE), 12, 12), 12)
    greedy, scores = search(model, SOURCE, 12, beam=1, alpha=0.0)
    np.testing.assert_array_equal(array(method.hypotheses(state).tokens), greedy)
    np.testing.assert_allclose(array(method.hypotheses(state).scores), scores, atol=1e-5)


def test_it_can_be_compiled():
    model = lively_model(vocab_size=12)
    expected, scores = search(model, SOURCE, 12, n_best=4)
    config = SearchConfig(n_best=4)
    found = compiled(lambda source: searches.search(model, source, 12, config))(ops.array(SOURCE))
    np.testing.assert_array_equal(array(found.tokens), expected)
    np.testing.assert_allclose(array(found.scores), scores, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "`beam` must be"),
        ({"alpha": -0.1}, "`alpha` must be a number of at least 0"),
        ({"extra_length": -1}, "`extra_length` must be"),
        ({"n_best": 5}, "`n_best` must be at most the number of hypotheses, beam=4"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        SearchConfig(**settings).validate()
