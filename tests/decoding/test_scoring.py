import keras
import numpy as np
import pytest
from helpers import array, compiled, ids, tiny_model
from searches import as_graph, run_search, uncached_log_p

from t2t_keras.decoding.hypotheses import length_penalty
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.scoring import Scorer


def with_end(tokens):
    """Adds an end after the tokens of each row."""
    tokens = np.pad(tokens, [(0, 0), (0, 1)])
    tokens[np.arange(len(tokens)), (tokens != 0).sum(1)] = 2
    return tokens


SOURCE = with_end(ids(3, 7, [7, 4, 0]))
TARGET = with_end(ids(3, 5, [2, 5, 0], seed=1))


@pytest.fixture(scope="module")
def model():
    return tiny_model(num_layers=1)


def test_log_p_equals_the_log_softmax_in_float64(model):
    log_p = as_graph(lambda *pair: log_probabilities(model, *pair))(SOURCE, TARGET)
    assert keras.backend.standardize_dtype(log_p.dtype) == "float32"
    expected = np.where(TARGET, uncached_log_p(model, SOURCE, TARGET), 0)
    np.testing.assert_allclose(array(log_p), expected, atol=1e-5)


@pytest.mark.long
@pytest.mark.one_backend
def test_xla_compiles_it(model):
    expected = array(log_probabilities(model, SOURCE, TARGET))
    function = compiled(lambda source, target: log_probabilities(model, source, target))
    np.testing.assert_allclose(array(function(SOURCE, TARGET)), expected, atol=1e-5)


def test_the_softmax_of_a_half_precision_model_is_in_float32():
    model = tiny_model(dtype="mixed_bfloat16", num_layers=1)
    log_p = as_graph(lambda *pair: log_probabilities(model, *pair))(SOURCE, TARGET)
    assert keras.backend.standardize_dtype(log_p.dtype) == "float32"
    expected = np.where(TARGET, uncached_log_p(model, SOURCE, TARGET), 0)
    np.testing.assert_allclose(array(log_p), expected, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_scores_of_a_search_equal_those_of_forced_decoding(model, beam):
    tokens, scores = run_search(model, SOURCE, 12, beam=beam, n_best=beam, extra_length=6)
    function = as_graph(lambda *pair: log_probabilities(model, *pair))
    for rank in range(beam):
        exist = np.isfinite(scores[:, rank])
        target = tokens[:, rank]
        log_p = array(function(SOURCE, target)).sum(1)
        expected = scores[:, rank] * array(length_penalty((target != 0).sum(1), SearchConfig()))
        np.testing.assert_allclose(log_p[exist], expected[exist], atol=1e-4)
        assert rank or exist.all()


class Letters:
    """A tokenizer with a token for each letter."""

    source = target = property(lambda self: self)

    def encode(self, texts):
        return [np.array([ord(letter) for letter in text], "int32") for text in texts]


def minus_source_length(shapes):
    """Returns a fake model: log P of a token is minus its source's length, 99 at padding."""

    def log_probabilities(source, target):
        shapes.append((source.shape, target.shape))
        assert all(2 in row for row in [*source, *target]), "every text has an end"
        lengths = (source != 0).sum(1, keepdims=True)
        return np.where(target != 0, -lengths, 99.0)

    return log_probabilities


PAIRS = [("x" * (7 * n % 30), "y" * (11 * n % 40)) for n in range(50)]


def test_scores_come_back_in_the_order_of_the_pairs():
    shapes, progress = [], []
    scores = Scorer(Letters(), minus_source_length(shapes), 64).score(PAIRS, progress.append)
    for (source, target), score in zip(PAIRS, scores, strict=True):
        assert list(score.tokens) == [ord("y")] * len(target) + [2]
        assert score.log_p == -(len(source) + 1) * (len(target) + 1)
        assert np.isclose(score.perplexity, np.exp(len(source) + 1))
        assert len(score.token_log_p) == len(score.tokens)
    assert progress == sorted(progress) and progress[-1] == 50
    for (rows, source_width), (_, target_width) in shapes:
        assert rows == 1 or rows * max(source_width, target_width) <= 64
        assert source_width % 8 == target_width % 8 == 0, "few widths are compiled"
    widths = [max(source[1], target[1]) for source, target in shapes]
    assert widths == sorted(widths, reverse=True), "longest first"


def scorer_of(model, **options):
    function = as_graph(lambda source, target: log_probabilities(model, source, target))
    return Scorer(Letters(), lambda *batch: array(function(*batch)), **options)


@pytest.mark.long
@pytest.mark.one_backend
def test_a_score_depends_neither_on_the_batch_nor_on_the_order():
    pairs = [("xyz", "y" * 9), ("z", "x"), ("", "abc"), ("b" * 12, ""), ("xyz", "zzz")]
    scorer, results = scorer_of(tiny_model(vocab_size=128, num_layers=1)), []
    for scorer.batch_tokens in (1, 32, 2048):
        results += [scorer.score(pairs), scorer.score(pairs[::-1])[::-1]]
    for alone, *others in zip(*results, strict=True):
        for other in others:
            np.testing.assert_allclose(other.token_log_p, alone.token_log_p, atol=1e-5)


def test_an_empty_text_is_scored_as_its_end():
    scorer = Scorer(Letters(), minus_source_length([]))
    scores = scorer.score([("", ""), ("ab", ""), ("", "c")])
    assert [(score.log_p, len(score.tokens)) for score in scores] == [(-1, 1), (-3, 1), (-2, 2)]
    assert scorer.score([]) == []


def test_a_pair_longer_than_a_batch_is_its_own_batch():
    shapes = []
    Scorer(Letters(), minus_source_length(shapes), 16).score([("a", "b"), ("a", "b" * 100)])
    assert [source[0] for source, _ in shapes] == [1, 1]


def test_a_text_may_be_as_long_as_there_are_learned_positions():
    model = tiny_model(vocab_size=128, num_layers=1, positions="learned", max_length=11)
    scorer = scorer_of(model, longest=11)
    scores = scorer.score([("a" * 10, "b" * 10), ("a", "b")])
    assert np.isfinite([score.log_p for score in scores]).all()
    np.testing.assert_allclose(scores[1].log_p, scorer.score([("a", "b")])[0].log_p, atol=1e-5)
    for pair, side in (("a" * 11, "b"), "source"), (("a", "b" * 11), "target"):
        message = f"line 8: a {side} must have at most 11 pieces, .* Received: 12 pieces"
        with pytest.raises(ValueError, match=message):
            scorer.score([("a", "b"), pair], first_line=7)


def test_the_perplexity_of_an_impossible_target_is_infinite():
    scorer = Scorer(Letters(), lambda source, target: np.full(target.shape, -1e4))
    assert scorer.score([("a", "b")])[0].perplexity == np.inf
