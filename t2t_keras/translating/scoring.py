"""Scores of given translations: log P of each token."""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.decoding.batches import batches, padded
from t2t_keras.decoding.special_ids import END


class Score(NamedTuple):
    """The log-probability of a target and of each of its tokens."""

    tokens: Any  # ids, including the end
    token_log_p: Any  # log P of each token

    @property
    def log_p(self):
        return float(np.sum(self.token_log_p, dtype="float64"))

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
        tokenizer: has a `source` and a `target`, both with `encode(texts)`.
        log_probabilities: function from source ids and target ids to log P of each target token.
        batch_tokens: maximum rows × length of a batch; a longer pair is a batch of its own. The
            logits of a batch have up to `batch_tokens` × vocabulary elements.
        longest: maximum tokens of a text, including its end. None: no maximum.
    """

    def __init__(self, tokenizer, log_probabilities, batch_tokens=2048, longest=None):
        self.tokenizer, self.log_probabilities = tokenizer, log_probabilities
        self.batch_tokens, self.longest = batch_tokens, longest

    def score(self, pairs, on_progress=lambda count: None, first_line=1):
        """Returns the `Score` of each pair.

        Args:
            pairs: a list of (source, target). An empty text is scored as its end alone.
            on_progress: called with the number of pairs scored so far.
            first_line: line number of the first pair, for error messages.
        """
        sources = self.encode("source", [source for source, _ in pairs], first_line)
        targets = self.encode("target", [target for _, target in pairs], first_line)
        return self.score_ids(sources, targets, on_progress)

    def score_ids(self, sources, targets, on_progress=lambda count: None):
        """Returns the `Score` of each pair of ids.

        Args:
            sources: lists of ids with their end.
            targets: lists of ids, with their end unless the output was cut off.
            on_progress: see `score`.
        """
        both = zip(sources, targets, strict=True)
        lengths = {index: max(map(len, pair)) for index, pair in enumerate(both)}
        results, done = [None] * len(lengths), 0
        for indices in batches(lengths, self.batch_tokens):
            batch = (
                padded([side[index] for index in indices], self.longest)
                for side in (sources, targets)
            )
            token_log_p = np.asarray(self.log_probabilities(*batch))
            for row, index in enumerate(indices):
                tokens = targets[index]
                results[index] = Score(tokens, token_log_p[row, : len(tokens)])
            done += len(indices)
            on_progress(done)
        return results

    def encode(self, side, texts, first_line):
        """Returns the ids of each text, followed by the end."""
        sequences = getattr(self.tokenizer, side).encode(texts) if texts else []
        for line, ids in enumerate(sequences, first_line):
            if self.longest is not None and len(ids) >= self.longest:
                raise ValueError(
                    f"line {line}: a {side} must have at most {self.longest} pieces, including "
                    "its end: the model has no positions for more. "
                    f"Received: {len(ids) + 1} pieces. Shorten the text, or leave the pair out"
                )
        return [np.append(ids, END) for ids in sequences]
