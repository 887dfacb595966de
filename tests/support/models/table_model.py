"""A model whose probabilities are a table, and all hypotheses that it allows under constraints.

Searches with it run on NumPy in milliseconds, so tests can try many settings.
"""

import itertools
import types

import numpy as np
from support.models.helpers import array

from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.ops import map_structure, ops

END = 2


class TableModel:
    """Decodes like a `Transformer`; a token depends only on its position and the one before it.

    Args:
        seed: random seed of the table.
        vocabulary: number of tokens, including padding, begin, end and unknown.
        end: logit that is added to every end; large: outputs are short.
    """

    longest = None

    def __init__(self, seed, vocabulary=7, positions=24, end=0.0):
        self.config = types.SimpleNamespace(vocab_size=vocabulary)
        logits = np.random.default_rng(seed).normal(0, 2, (positions, vocabulary, vocabulary))
        logits[..., END] += end
        self.logits = logits.astype("float32")
        self.log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def start_decoding(self, source, max_length, beams=1):
        sentences = ops.shape(source)[0]
        return ops.zeros((sentences, 1)), ops.zeros((sentences, 1, max_length * beams, 1))

    def extend_cache(self, cache, max_length, beams=1):
        return cache

    def decode_step(self, tokens, position, cache, memory, visible=None):
        here = ops.take(ops.convert_to_tensor(self.logits), position, axis=0)
        return ops.take(here, tokens, axis=0), cache

    def chosen(self, memory, cache, rows):
        return map_structure(lambda x: x[rows], (memory, cache))

    def score(self, hypothesis, alpha=0.6):
        """Returns the score of a hypothesis, given as a sequence of tokens."""
        before = (1, *hypothesis[:-1])
        log_p = sum(
            self.log_p[position, last, token]
            for position, (last, token) in enumerate(zip(before, hypothesis, strict=True))
        )
        return log_p / ((5 + len(hypothesis)) / 6) ** alpha

    def hypotheses(self, limit, prefix=(), alpha=0.6, **constraints):
        """Returns all allowed hypotheses with their scores, best first.

        They are those that end within the limit or, if there are none, those cut off there.
        """
        for ends in ([END], []):
            found = [
                (*middle, *ends)
                for length in (range(limit) if ends else [limit])
                for middle in itertools.product(range(3, self.logits.shape[-1]), repeat=length)
                if allowed((*middle, *ends), prefix, **constraints)
            ]
            if found:
                break
        return sorted(((self.score(each, alpha), each) for each in found), reverse=True)


def allowed(hypothesis, prefix=(), banned=(), first=(), no_repeat_ngram=0):
    """Returns whether a hypothesis obeys the constraints; see `SearchConfig`."""
    prefix = tuple(prefix)[: len(hypothesis)]
    n = no_repeat_ngram
    for position, token in enumerate(hypothesis):
        if position < len(prefix):
            if token != prefix[position]:
                return False
            continue
        ngrams = [hypothesis[i : i + n] for i in range(position - n + 1)] if n else []
        repeats = n and hypothesis[max(position - n + 1, 0) : position + 1] in ngrams
        if token in banned or repeats or (position == 0 and first and token not in first):
            return False
    return True


def search_table(model, limits, prefixes=None, method_of=method_of, **settings):
    """Searches on NumPy for translations of sentences, whose sources are as long as their limits.

    Args:
        model: a `TableModel`.
        limits: maximum output length of each sentence.
        prefixes: for each sentence, the tokens that its outputs must begin with. None: no prefixes.
        method_of: function from a model and a config to the search method.
        **settings: fields of `SearchConfig`.

    Returns:
        For each sentence, (score, tokens) of each hypothesis that exists.
    """
    config = SearchConfig(extra_length=0, **settings)
    config.validate()
    source, extras = padded([[2] * limit for limit in limits]), {}
    if prefixes and any(prefixes):
        extras["prefix"] = padded(prefixes)
    if config.method == "sample":
        extras["draws"] = draws_of(range(len(limits)), max(limits), config)
    return found(*numpy_search(method_of(model, config), source, max(limits), extras))


def padded(rows):
    """Pads sequences of ids to the length of the longest."""
    ids = np.zeros((len(rows), max(map(len, rows))), "int32")
    for row, sequence in enumerate(rows):
        ids[row, : len(sequence)] = sequence
    return ids


def found(tokens, scores):
    """Returns, for each sentence, (score, tokens) of each hypothesis that exists."""
    return [
        [
            (score, tuple(int(token) for token in row if token))
            for score, row in zip(sentence_scores.tolist(), sentence, strict=True)
            if np.isfinite(score)
        ]
        for sentence, sentence_scores in zip(array(tokens), array(scores), strict=True)
    ]


def random_constraints(seed, limits, vocabulary=7):
    """Returns random constraints with at least one possible first token, and random prefixes."""
    random = np.random.default_rng(seed)
    words = np.arange(3, vocabulary)

    def some(count):
        return tuple(random.permutation(words)[:count].tolist())

    constraints = {"banned": some(random.integers(0, len(words)))}
    free = [*set(words.tolist()) - {*constraints["banned"]}]
    if random.random() < 0.6:
        constraints["first"] = (int(random.choice(free)), *some(random.integers(0, 2)))
    if random.random() < 0.3:
        constraints["no_repeat_ngram"] = int(random.integers(1, 3))
    return constraints, [some(max(0, random.integers(-1, limit + 2))) for limit in limits]
