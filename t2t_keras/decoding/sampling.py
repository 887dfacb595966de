"""Sampling: at every step a token is drawn at random, by its probability."""

import numpy as np
from keras import ops

from t2t_keras.decoding.constraints import allowed
from t2t_keras.decoding.greedy import Greedy
from t2t_keras.decoding.hypotheses import best


class Sampling(Greedy):
    """Draws `config.n_best` hypotheses a sentence.

    The random numbers are handed in (`draws_of`), one a token: so they are the same on every
    backend, and in whatever company a sentence is translated.
    """

    def __init__(self, model, config):
        super().__init__(model, config)
        self.count = config.n_best

    def choose(self, logits, state):
        normalizer, tokens = ops.logsumexp(logits, axis=-1), None
        prefix = state.extras.get("prefix")
        logits = allowed(logits, state.hypotheses.tokens, state.position, self.config, prefix)
        logits = logits / self.config.temperature
        if self.config.top_k or self.config.top_p < 1:
            vocabulary = logits.shape[-1]
            logits, tokens = ops.top_k(logits, min(self.config.top_k or vocabulary, vocabulary))
        upto = ops.cumsum(ops.softmax(logits), axis=-1)
        # Of the likeliest, the first with which together they have top_p is the last.
        whole = ops.sum(ops.cast(upto < self.config.top_p, "int32"), axis=-1, keepdims=True)
        whole = ops.take_along_axis(upto, ops.minimum(whole, upto.shape[-1] - 1), axis=-1)
        draw = ops.take(state.extras["draws"], state.position, axis=2)[..., None]
        # A hair less: what is drawn has a probability, however the sum was rounded.
        chosen = ops.argmax(upto > draw * whole * (1 - 1e-6), axis=-1)
        gained = ops.take_along_axis(logits, chosen[..., None], axis=-1)[..., 0]
        if tokens is not None:
            chosen = ops.take_along_axis(tokens, chosen[..., None], axis=-1)[..., 0]
        return gained * self.config.temperature - normalizer, ops.cast(chosen, "int32")

    def hypotheses(self, state):
        return best(super().hypotheses(state), self.count)[0]


def draws_of(indices, longest, config):
    """Random numbers for the sentences of these numbers: `[sentences, n_best, longest]`."""
    return np.stack(
        [
            np.random.default_rng((config.seed, index)).random((longest, config.n_best)).T
            for index in indices
        ]
    ).astype("float32")
