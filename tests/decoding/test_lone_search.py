"""The search for one sentence finds what the search on NumPy finds, to the bit."""

import zlib

import numpy as np
import pytest

from t2t_keras.decoding.lone_search import lone_search
from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.decoding.top_tokens import Logits
from t2t_keras.ops import logsumexp

VOCABULARY = 14


class Random:
    """A model whose logits depend on all that a hypothesis sees."""

    def __init__(self, end):
        self.end, self.longest, self.steps = end, None, 0

    def start_decoding(self, source, room, beams=1):
        return source, room * beams

    def extend_cache(self, slots, room, beams=1):
        return room * beams

    def decode_step(self, tokens, position, slots, memory, visible=None):
        self.steps += 1
        if visible is None:
            visible = np.arange(slots)[None, None] <= position
        assert visible.shape == (1, len(tokens), slots)
        rows = [
            self.row(f"{int(token)} {position} {np.flatnonzero(seen)} {memory}")
            for token, seen in zip(tokens, visible[0], strict=True)
        ]
        logits = np.array(rows, "float32").view(Logits)
        order = (-logits).argsort(axis=-1, kind="stable")[:, : 2 * len(tokens) + 2]
        values = np.take_along_axis(logits, order, 1).view(np.ndarray)
        logits.top_tokens = [values, order.astype("int32"), logsumexp(logits.view(np.ndarray))]
        return logits, slots

    def row(self, key):
        logits = np.random.default_rng(zlib.crc32(key.encode())).normal(0, 2, VOCABULARY)
        logits[2] += self.end
        return np.round(logits, 1) if self.end > 1 else logits  # with ties, too


def searched(model, config, source, longest=None):
    """Returns the results of both searches; checks that they take the same steps."""
    expected = numpy_search(method_of(model, config), source, longest, {})
    steps, model.steps = model.steps, 0
    found = lone_search(model, config, source, longest)
    assert model.steps == steps
    np.testing.assert_array_equal(found.scores, expected.scores)
    return found, expected


def test_tokens_and_scores_are_equal():
    for seed in range(60):
        random = np.random.default_rng(seed)
        beam = int(random.choice([1, 2, 4, 5]))
        config = SearchConfig(
            beam=beam,
            n_best=int(random.integers(1, beam + 1)),
            alpha=float(random.choice([0, 0.6, 1.5])),
            penalty=str(random.choice(["gnmt", "marian"])),
            extra_length=int(random.choice([0, 3, 40])),
            stopping=str(random.choice(["exact", "first", "patience"])),
        )
        longest = None if seed % 3 else int(random.integers(1, 20))
        source = np.zeros((1, 12), "int32")
        source[0, : random.integers(0, 11)] = 5
        model = Random(end=float(random.choice([-9, 0, 2, 4])))
        found, expected = searched(model, config, source, longest)
        for row in np.flatnonzero(np.isfinite(found.scores[0])):
            ours, theirs = (each.tokens[0, row] for each in (found, expected))
            assert ours[ours > 0].tolist() == theirs[theirs > 0].tolist(), seed


class Unknown(Random):
    """A model of whose logits only the top tokens are known."""

    def decode_step(self, tokens, *args, **kwargs):
        logits, slots = super().decode_step(tokens, *args, **kwargs)
        logits.fill(np.nan)
        return logits, slots


def test_both_take_the_top_tokens_of_the_program():
    config = SearchConfig(beam=3, extra_length=9)
    source = np.full((1, 4), 5, "int32")
    (found, _), (known, _) = (searched(model(0), config, source) for model in (Unknown, Random))
    np.testing.assert_array_equal(found.tokens, known.tokens)


class Overflowing(Random):
    """A model with a few logits that are infinite or NaN, or with NaN only."""

    def __init__(self, seed):
        super().__init__(end=0)
        self.seed = seed

    def row(self, key):
        row = super().row(key)
        random = np.random.default_rng(zlib.crc32(f"{self.seed} {key}".encode()))
        row[random.integers(0, VOCABULARY, 2)] = (np.inf, -np.inf, np.nan)[self.seed % 3]
        if self.seed % 7 == 1:  # only the padding and begin tokens are possible
            row[2:] = -np.inf
        return row if self.seed else np.full(VOCABULARY, np.nan)

    def decode_step(self, tokens, *args, **kwargs):
        logits, slots = super().decode_step(tokens, *args, **kwargs)
        if not self.seed:
            logits.top_tokens[1][:] = 0  # as on LiteRT
        return logits, slots


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_search_over_infinite_logits_and_nan_is_the_same():
    for seed in range(30):
        model, source = Overflowing(seed), np.full((1, 5), 5, "int32")
        beam = 4 if seed % 3 == 2 else 1 + 3 * (seed % 2)
        results = searched(model, SearchConfig(beam=beam, extra_length=3), source)
        ours, theirs = (each.tokens[each.tokens > 0].tolist() for each in results)
        assert ours == theirs, seed
