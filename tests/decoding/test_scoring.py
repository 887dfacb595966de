import numpy as np
import pytest
from helpers import array, compiled, ids, tiny_model
from keras import ops

from t2t_keras.decoding.hypotheses import penalty
from t2t_keras.decoding.scoring import Scorer, log_probabilities
from t2t_keras.decoding.search import search
from t2t_keras.decoding.search_config import SearchConfig


def ended(tokens):
    """The same ids with an end behind the tokens of each row."""
    tokens = np.pad(tokens, [(0, 0), (0, 1)])
    tokens[np.arange(len(tokens)), (tokens != 0).sum(1)] = 2
    return tokens


SOURCE = ended(ids(3, 7, [7, 4, 0]))
TARGET = ended(ids(3, 5, [2, 5, 0], seed=1))


def in_float64(model, source, target):
    """log P of each token, from the model's logits."""
    read = np.insert(target[:, :-1], 0, 1, axis=1)
    logits = array(model({"source": source, "target": read})).astype("float64")
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]


def test_log_p_is_that_of_the_softmax_in_float64():
    model = tiny_model()
    found = array(log_probabilities(model, SOURCE, TARGET))
    assert found.dtype == "float32"
    expected = in_float64(model, SOURCE, TARGET)
    np.testing.assert_allclose(found, np.where(TARGET, expected, 0), atol=1e-5)
    assert not found[TARGET == 0].any(), "padding has no part in it"


def test_it_can_be_compiled():
    model = tiny_model()
    expected = array(log_probabilities(model, SOURCE, TARGET))
    found = compiled(lambda source, target: log_probabilities(model, source, target))
    np.testing.assert_allclose(array(found(SOURCE, TARGET)), expected, atol=1e-5)


def test_half_precision_ends_before_the_softmax():
    model = tiny_model(dtype="mixed_bfloat16", num_layers=1)
    found = array(log_probabilities(model, SOURCE, TARGET))
    assert found.dtype == "float32"
    expected = np.where(TARGET, in_float64(model, SOURCE, TARGET), 0)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_hypothesis_has_the_log_p_that_the_search_says(beam):
    model = tiny_model()
    config = SearchConfig(beam=beam, n_best=beam, extra_length=6)
    tokens, scores = map(array, search(model, ops.array(SOURCE), 12, config))
    for rank in range(beam):
        exist = np.isfinite(scores[:, rank])
        target = tokens[:, rank]
        log_p = array(log_probabilities(model, SOURCE, target)).sum(1)
        lengths = (target != 0).sum(1)
        wanted = scores[:, rank] * array(penalty(lengths, config.alpha))
        np.testing.assert_allclose(log_p[exist], wanted[exist], atol=1e-4)
        assert rank or exist.all()


class Letters:
    """A token for each letter."""

    def encode(self, texts):
        return [np.array([ord(letter) for letter in text], "int32") for text in texts]


def counting(shapes):
    """Says of each token minus the length of its source, and nothing sensible of padding."""

    def log_probabilities(source, target):
        shapes.append((source.shape, target.shape))
        assert all(2 in row for row in [*source, *target]), "every text ends with an end"
        lengths = (source != 0).sum(1, keepdims=True)
        return np.where(target != 0, -lengths, 99.0)

    return log_probabilities


PAIRS = [("x" * (7 * n % 30), "y" * (11 * n % 40)) for n in range(50)]


def test_scores_come_back_in_the_order_of_the_pairs():
    shapes, seen = [], []
    found = Scorer(Letters(), counting(shapes), 64).score(PAIRS, seen.append)
    for (source, target), score in zip(PAIRS, found, strict=True):
        assert list(score.tokens) == [ord("y")] * len(target) + [2]
        assert score.log_p == -(len(source) + 1) * (len(target) + 1)
        assert np.isclose(score.perplexity, np.exp(len(source) + 1))
        assert len(score.token_log_p) == len(score.tokens)
    assert seen == sorted(seen) and seen[-1] == 50
    for (rows, source_width), (_, target_width) in shapes:
        assert rows == 1 or rows * max(source_width, target_width) <= 64
        assert source_width % 8 == target_width % 8 == 0, "few widths, so that few are compiled"
    widths = [max(source[1], target[1]) for source, target in shapes]
    assert widths == sorted(widths, reverse=True), "the longest first"


def scorer_of(model, **options):
    found = compiled(lambda source, target: log_probabilities(model, source, target))
    return Scorer(Letters(), lambda *batch: array(found(*batch)), **options)


def test_neither_batches_nor_order_change_a_score():
    pairs = [("xyz", "y" * 9), ("z", "x"), ("", "abc"), ("b" * 12, ""), ("xyz", "zzz")]
    scorer = scorer_of(tiny_model(vocab_size=128, num_layers=1))
    found = []
    for scorer.batch_tokens in (1, 32, 2048):
        found += [scorer.score(pairs), scorer.score(pairs[::-1])[::-1]]
    for alone, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_allclose(other.token_log_p, alone.token_log_p, atol=1e-5)


def test_nothing_is_scored_as_its_end():
    found = Scorer(Letters(), counting([])).score([("", ""), ("ab", ""), ("", "c")])
    assert [(score.log_p, len(score.tokens)) for score in found] == [(-1, 1), (-3, 1), (-2, 2)]
    assert Scorer(Letters(), counting([])).score([]) == []


def test_a_pair_longer_than_a_batch_is_one_of_its_own():
    shapes = []
    Scorer(Letters(), counting(shapes), 16).score([("a", "b"), ("a", "b" * 100)])
    assert [source[0] for source, _ in shapes] == [1, 1]


def test_learned_positions_may_be_used_up_to_the_last():
    model = tiny_model(vocab_size=128, num_layers=1, positions="learned", max_length=11)
    scorer = scorer_of(model, longest=11)
    found = scorer.score([("a" * 10, "b" * 10), ("a", "b")])
    assert np.isfinite([score.log_p for score in found]).all()
    np.testing.assert_allclose(found[1].log_p, scorer.score([("a", "b")])[0].log_p, atol=1e-5)
    for pair, side in (("a" * 11, "b"), "source"), (("a", "b" * 11), "target"):
        with pytest.raises(ValueError, match=f"line 8: a {side} must have at most 11 .* 12, its"):
            scorer.score([("a", "b"), pair], first_line=7)


def test_what_is_hopeless_has_an_infinite_perplexity():
    hopeless = Scorer(Letters(), lambda source, target: np.full(target.shape, -1e4))
    assert hopeless.score([("a", "b")])[0].perplexity == np.inf
