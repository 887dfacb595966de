"""Sampling: each step draws a token at random, according to its probability."""

import numpy as np

from t2t_keras.decoding.constraints import mask_forbidden
from t2t_keras.decoding.greedy import Greedy
from t2t_keras.decoding.rows import best
from t2t_keras.ops import ops


class Sampling(Greedy):
    """Draws `config.n_best` hypotheses for each sentence.

    The random numbers are an input, `extras["draws"]` from `draws_of`. So a sample depends
    neither on the backend nor on the other sentences in its batch.
    """

    draws = True  # see `search.METHODS`

    def __init__(self, model, config, trees=None):
        super().__init__(model, config, trees)
        self.count = config.n_best

    def choose(self, logits, state):
        normalizer, ids = ops.logsumexp(logits, axis=-1), None
        logits = mask_forbidden(self, logits, state.hypotheses.tokens, state)
        logits = logits / self.config.temperature
        if self.config.top_k or self.config.top_p < 1:
            vocabulary = logits.shape[-1]
            logits, ids = ops.top_k(logits, min(self.config.top_k or vocabulary, vocabulary))
        cumulative = ops.cumsum(ops.softmax(logits), axis=-1)
        # top_p keeps the most likely tokens up to the first at which their sum reaches top_p.
        below = ops.sum(ops.cast(cumulative < self.config.top_p, "int32"), axis=-1, keepdims=True)
        last = ops.minimum(below, cumulative.shape[-1] - 1)
        kept = ops.take_along_axis(cumulative, last, axis=-1)
        draw = ops.take(state.extras["draws"], state.position, axis=2)[..., None]
        # The factor below 1 ensures that a token is found despite rounding errors in the sums.
        chosen = ops.argmax(cumulative > draw * kept * (1 - 1e-6), axis=-1)
        chosen_logits = ops.take_along_axis(logits, chosen[..., None], axis=-1)[..., 0]
        if ids is not None:
            chosen = ops.take_along_axis(ids, chosen[..., None], axis=-1)[..., 0]
        log_p = chosen_logits * self.config.temperature - normalizer
        return log_p, ops.cast(chosen, "int32")

    def hypotheses(self, state):
        return best(super().hypotheses(state), self.count)[0]


def draws_of(indices, longest, config):
    """Returns random numbers from 0 to 1 for sentence indices: `[sentences, n_best, longest]`."""
    generators = (np.random.default_rng((config.seed, index)) for index in indices)
    draws = [each.random((longest, config.n_best)).T for each in generators]
    return np.stack(draws).astype("float32")
