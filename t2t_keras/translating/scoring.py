"""Scores of given translations: log P of each token."""

from typing import Any, NamedTuple

import numpy as np


class PairScore(NamedTuple):
    """The log-probability of a target and of each of its tokens."""

    tokens: Any  # ids, including the end token
    token_log_p: Any  # log P of each token

    @property
    def log_p(self):
        return float(np.sum(self.token_log_p, dtype="float64"))

    @property
    def cross_entropy(self):
        """Negative log-probability per token."""
        return -self.log_p / len(self.tokens)

    @property
    def perplexity(self):
        return perplexity(self.log_p, len(self.tokens))


def perplexity(log_p, tokens):
    """Returns exp(−log P / tokens), or ∞ if that overflows."""
    with np.errstate(over="ignore"):
        return float(np.exp(-log_p / tokens))
