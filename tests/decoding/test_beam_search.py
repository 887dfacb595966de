"""Beam search with a Transformer, compared with a search of all hypotheses."""

import itertools

import numpy as np
import pytest
from support.models.helpers import tiny_model
from support.models.searches import run_search, uncached_log_p

SOURCE = np.array([[5, 4, 3, 2], [4, 2, 0, 0], [3, 5, 2, 0]], "int32")


def lively_model(vocab_size=12, num_layers=1):
    """Returns a model with widely spread logits that ends neither at once nor never."""
    model = tiny_model(vocab_size=vocab_size, num_layers=num_layers, output_bias=True)
    bias = np.random.default_rng(0).normal(size=vocab_size).astype("float32")
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


@pytest.mark.parametrize(
    ("settings", "penalty", "num_layers"),
    [
        pytest.param({}, lambda length: ((5 + length) / 6) ** 0.6, 2, marks=pytest.mark.jax),
        ({"alpha": 1.5, "penalty": "marian"}, lambda length: length**1.5, 1),
    ],
    ids=["gnmt", "marian"],
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


def test_a_result_depends_neither_on_the_batch_nor_on_padding():
    model = lively_model()
    tokens, scores = run_search(model, SOURCE, 12, n_best=4)
    reverse, _ = run_search(model, SOURCE[::-1], 12, n_best=4)
    np.testing.assert_array_equal(reverse[::-1], tokens)
    for row, source in enumerate(SOURCE):
        alone, alone_scores = run_search(model, source[source > 0][None], 12, n_best=4)
        np.testing.assert_array_equal(alone[0], tokens[row])
        np.testing.assert_allclose(alone_scores[0], scores[row], atol=1e-5)
