"""Scores of given translations: log P of each token."""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.decoding.rows import END
from t2t_keras.translating.calls import Call, answered


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


class Scorer:
    """Scores lists of pairs of texts.

    Args:
        engine: the engine that computes the probabilities.
        tokenizer: object with `source` and `target`, which both have a method `encode(texts)`.
    """

    def __init__(self, engine, tokenizer):
        self.engine, self.tokenizer, self.longest = engine, tokenizer, engine.longest

    def score(self, pairs, on_progress=lambda count: None, first_line=1):
        """Returns the `PairScore` of each pair, or of a single pair.

        Args:
            pairs: a list of (source, target), or one of them. An empty text is scored as an end
                token alone.
            on_progress: called with the share of the work done so far, as a number of pairs.
            first_line: line number of the first pair, for error messages.
        """
        if len(pairs) == 2 and all(isinstance(each, str) for each in pairs):
            return self.score([pairs], on_progress, first_line)[0]
        sources = self.encode("source", [source for source, _ in pairs], first_line)
        targets = self.encode("target", [target for _, target in pairs], first_line)
        call = Call(self.engine, "log_p", {"source": sources, "target": targets})
        found = answered(call, lambda done, _: on_progress(done))
        return [PairScore(*each) for each in zip(targets, found, strict=True)]

    def encode(self, side, texts, first_line):
        """Returns the ids of each text, followed by the end token."""
        sequences = getattr(self.tokenizer, side).encode(texts) if texts else []
        for line, ids in enumerate(sequences, first_line):
            if self.longest is not None and len(ids) >= self.longest:
                raise ValueError(
                    f"line {line}: a {side} must have at most {self.longest} pieces, including "
                    "its end: the model has no positions for more. "
                    f"Received: {len(ids) + 1} pieces. Shorten the text, or leave the pair out"
                )
        return [np.append(ids, END) for ids in sequences]
