import numpy as np
import pytest
from support.models.fake_engine import FakeEngine

from t2t_keras.translating import calls
from t2t_keras.translating.translator import Translator

PAIRS = [("x" * (7 * n % 30), "y" * (11 * n % 40)) for n in range(50)]


class Measuring(FakeEngine):
    """Log P of a token is minus its source's length, 99 at padding."""

    def log_p(self, source, target):
        super().log_p(source, target)
        assert all(2 in row for row in [*source, *target]), "every text has an end"
        return np.where(target != 0, -(source != 0).sum(1, keepdims=True), 99.0)


def scorer(**arguments):
    return Translator(Measuring(**arguments))


def shapes(scorer):
    return [[ids.shape for ids in sides] for _, _, sides in scorer.engine.calls]


def length(text):
    """Returns the number of tokens, with the space before the first word and the end."""
    return len(text) + bool(text) + 1


def test_scores_come_back_in_the_order_of_the_pairs(monkeypatch):
    monkeypatch.setitem(calls.BATCH_TOKENS, "log_p", 64)
    ours, progress = scorer(), []
    scores = ours.score(PAIRS, progress.append)
    for (source, target), score in zip(PAIRS, scores, strict=True):
        assert [chr(id) for id in score.tokens if id > 32] == [*target]
        assert score.log_p == -length(source) * length(target)
        assert np.isclose(score.perplexity, np.exp(length(source)))
        assert len(score.token_log_p) == len(score.tokens) == length(target)
    assert progress == sorted(progress) and progress[-1] == 50
    for (rows, source_width), (_, target_width) in shapes(ours):
        assert rows == 1 or rows * max(source_width, target_width) <= 64
        assert source_width % 8 == target_width % 8 == 0, "few widths are compiled"
    widths = [max(source[1], target[1]) for source, target in shapes(ours)]
    assert widths == sorted(widths, reverse=True), "longest first"
    assert ours.score(PAIRS[7]).log_p == scores[7].log_p, "a single pair"


def test_an_empty_text_is_scored_as_its_end():
    scores = scorer().score([("", ""), ("ab", ""), ("", "c")])
    assert [(score.log_p, len(score.tokens)) for score in scores] == [(-1, 1), (-4, 1), (-3, 3)]
    assert scorer().score([]) == []


def test_a_text_may_be_as_long_as_there_are_positions():
    ours = scorer(longest=11)
    assert len(ours.score([("a" * 9, "b" * 9), ("a", "b")])) == 2
    assert shapes(ours)[0] == [(2, 11), (2, 11)], "no wider than the positions"
    for pair, side in (("a" * 10, "b"), "source"), (("a", "b" * 10), "target"):
        message = f"line 8: a {side} must have at most 11 pieces, .* Received: 12 pieces"
        with pytest.raises(ValueError, match=message):
            ours.score([("a", "b"), pair], first_line=7)


def test_the_perplexity_of_an_impossible_target_is_infinite():
    class Impossible(FakeEngine):
        def log_p(self, source, target):
            return np.full(target.shape, -1e4)

    assert Translator(Impossible()).score([("a", "b")])[0].perplexity == np.inf
