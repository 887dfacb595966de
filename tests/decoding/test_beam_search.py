"""Beam search compared with a search of all hypotheses."""

import itertools

import numpy as np
import pytest
from support.models.helpers import tiny_model
from support.models.searches import run_search, set_bias, uncached_log_p

from t2t_keras.decoding.beam_search import BeamSearch

SOURCE = np.array([[5, 4, 3, 2], [4, 2, 0, 0], [3, 5, 2, 0]], "int32")
LENGTH = 12


def lively_model(seed=0, vocab_size=12, num_layers=1):
    """Returns a model with widely spread logits that ends neither at once nor never."""
    model = tiny_model(vocab_size=vocab_size, num_layers=num_layers, output_bias=True)
    bias = np.random.default_rng(seed).normal(size=vocab_size).astype("float32")
    bias[:2] = -30  # neither padding nor begin
    model.embedding.bias.assign(bias)
    model.embedding.matrix.assign(model.embedding.matrix * 3)
    return model


def all_hypotheses(model, source, limit, penalty):
    """Returns all hypotheses that end within the limit, best first; without a cache."""
    words = [token for token in range(model.config.vocab_size) if token != 2]
    targets = [
        (*middle, 2)
        for length in range(limit)
        for middle in itertools.product(words, repeat=length)
    ]
    padded = np.array([target + (0,) * (limit - len(target)) for target in targets], "int32")
    token_log_p = uncached_log_p(model, np.repeat(source[None], len(padded), 0), padded)
    lengths = np.array([len(target) for target in targets])
    within = np.arange(limit) < lengths[:, None]
    scores = (token_log_p * within).sum(-1) / penalty(lengths)
    order = np.argsort(-scores)
    return padded[order], scores[order]


@pytest.mark.jax
@pytest.mark.parametrize(
    ("settings", "penalty", "num_layers"),
    [
        ({"alpha": 0.6}, lambda length: ((5 + length) / 6) ** 0.6, 2),
        ({"alpha": 0.0}, np.ones_like, 1),
        ({"alpha": 1.5, "penalty": "marian"}, lambda length: length**1.5, 1),
    ],
)
def test_a_wide_enough_beam_finds_the_best_of_all_hypotheses(settings, penalty, num_layers):
    model = lively_model(vocab_size=6, num_layers=num_layers)
    # No more than 3³ hypotheses are live, with 4 continuations each.
    settings = {"beam": 4 * 3**3, "n_best": 5, "extra_length": 10, **settings}
    tokens, scores = run_search(model, SOURCE, 4, **settings)
    for row, source in enumerate(SOURCE):
        expected, expected_scores = all_hypotheses(model, source, 4, penalty)
        np.testing.assert_array_equal(tokens[row], expected[:5])
        np.testing.assert_allclose(scores[row], expected_scores[:5], atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(("alpha", "n_bests"), [(0.0, [3]), (0.6, [1, 3])])
def test_early_stopping_changes_no_result(alpha, n_bests):
    for seed in range(4):
        model = lively_model(seed)
        complete = run_search(model, SOURCE, LENGTH, alpha=alpha, n_best=4, early_stopping=False)
        for n_best in n_bests:
            tokens, scores = run_search(model, SOURCE, LENGTH, alpha=alpha, n_best=n_best)
            np.testing.assert_array_equal(tokens, complete[0][:, :n_best])
            np.testing.assert_allclose(scores, complete[1][:, :n_best], atol=1e-6)


def test_hypotheses_are_sorted_and_differ():
    tokens, scores = run_search(lively_model(), SOURCE, LENGTH, n_best=4)
    for hypotheses, sentence_scores in zip(tokens, scores, strict=True):
        exist = np.isfinite(sentence_scores)
        assert exist[0] and (np.diff(sentence_scores[exist]) <= 0).all()
        assert len({tuple(hypothesis) for hypothesis in hypotheses[exist]}) == exist.sum()


def test_a_result_depends_neither_on_the_batch_nor_on_padding():
    model = lively_model()
    tokens, scores = run_search(model, SOURCE, LENGTH, n_best=4)
    reverse, _ = run_search(model, SOURCE[::-1], LENGTH, n_best=4)
    np.testing.assert_array_equal(reverse[::-1], tokens)
    for row, source in enumerate(SOURCE):
        unpadded = source[source > 0][None]
        alone, alone_scores = run_search(model, unpadded, LENGTH, n_best=4)
        np.testing.assert_array_equal(alone[0], tokens[row])
        np.testing.assert_allclose(alone_scores[0], scores[row], atol=1e-5)


def test_each_sentence_is_cut_off_at_its_own_limit():
    model = lively_model()
    set_bias(model, {2: -100.0})  # no hypothesis ends
    tokens, scores = run_search(model, SOURCE, LENGTH, extra_length=2, n_best=4)
    np.testing.assert_array_equal((tokens > 0).sum(-1), [[6] * 4, [4] * 4, [5] * 4])
    assert np.isfinite(scores).all()


def test_beam_1_without_length_penalty_equals_greedy_search():
    model, settings = lively_model(), {"beam": 1, "alpha": 0.0}
    tokens, scores = run_search(model, SOURCE, LENGTH, method_of=BeamSearch, **settings)
    greedy, greedy_scores = run_search(model, SOURCE, LENGTH, **settings)
    np.testing.assert_array_equal(tokens, greedy)
    np.testing.assert_allclose(scores, greedy_scores, atol=1e-5)
