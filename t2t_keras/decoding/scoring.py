"""Forced decoding: how likely a model finds a target that is given."""

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from t2t_keras.decoding.batches import batches, padded
from t2t_keras.decoding.hypotheses import BEGIN, END, PADDING
from t2t_keras.losses import token_cross_entropy


def log_probabilities(model, source, target):
    """log P of every token of the targets, given their sources and the tokens before.

    The model reads begin and the target up to its last token but one, all of it at once.

    Args:
        model: a `Transformer`, or what gives logits as it does.
        source: ids `[rows, source_length]`: tokens, end, padding.
        target: ids `[rows, target_length]`: tokens, end, padding.

    Returns:
        `[rows, target_length]` in float32, natural logarithms; 0 at padding.
    """
    source, target = (ops.cast(ids, "int32") for ids in (source, target))
    begin = ops.full_like(target[:, :1], BEGIN)
    read = ops.concatenate([begin, target[:, :-1]], axis=1)
    logits = model({"source": source, "target": read})  # [rows, target_length, vocabulary]
    log_p = -token_cross_entropy(target, logits)
    return ops.where(ops.not_equal(target, PADDING), log_p, 0.0)


class Score(NamedTuple):
    """What a model thinks of a target."""

    tokens: Any  # its ids, the end included
    token_log_p: Any  # log P of each

    @property
    def log_p(self):
        return float(np.sum(self.token_log_p, dtype="float64"))

    @property
    def perplexity(self):
        return perplexity(self.log_p, len(self.tokens))


def perplexity(log_p, tokens):
    with np.errstate(over="ignore"):
        return float(np.exp(-log_p / tokens))


class Scorer:
    """Scores lists of pairs of texts.

    Args:
        tokenizer: has `encode(texts)`.
        log_probabilities: source ids and target ids → log P of each token of the target.
        batch_tokens: rows × length of a batch, at most (one row is always taken). The logits
            are so many times the vocabulary.
        longest: tokens that a text may have, its end included. None: any number.
    """

    def __init__(self, tokenizer, log_probabilities, batch_tokens=2048, longest=None):
        self.tokenizer, self.log_probabilities = tokenizer, log_probabilities
        self.batch_tokens, self.longest = batch_tokens, longest

    def score(self, pairs, advanced=lambda count: None, first_line=1):
        """The `Score` of each pair.

        Args:
            pairs: a list of (source, target). A text without a token is just the end.
            advanced: called with the number of pairs that are done so far.
            first_line: line number of the first pair, for error messages.
        """
        sources = self.encoded("source", [source for source, _ in pairs], first_line)
        targets = self.encoded("target", [target for _, target in pairs], first_line)
        both = zip(sources, targets, strict=True)
        lengths = {number: max(map(len, pair)) for number, pair in enumerate(both)}
        results, done = [None] * len(pairs), 0
        for rows in batches(lengths, self.batch_tokens):
            batch = [padded([side[n] for n in rows], self.longest) for side in (sources, targets)]
            token_log_p = np.asarray(self.log_probabilities(*batch))
            for row, number in enumerate(rows):
                tokens = targets[number]
                results[number] = Score(tokens, token_log_p[row, : len(tokens)])
            done += len(rows)
            advanced(done)
        return results

    def encoded(self, side, texts, first_line):
        """The ids of each text and the end."""
        sequences = self.tokenizer.encode(texts) if texts else []
        for number, ids in enumerate(sequences, first_line):
            if self.longest is not None and len(ids) >= self.longest:
                raise ValueError(
                    f"line {number}: a {side} must have at most {self.longest} pieces, for which "
                    f"the model has positions. Received: {len(ids) + 1}, its end included. "
                    "Shorten it, or leave the pair out"
                )
        return [np.append(ids, END) for ids in sequences]
