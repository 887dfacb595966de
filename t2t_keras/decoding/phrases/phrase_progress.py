"""Progress of hypotheses through the phrases that they must contain.

For each phrase, an automaton (Knuth, Morris and Pratt 1977) processes the tokens of a hypothesis.
The state is the length of the longest beginning of the phrase that the hypothesis ends with. So
phrases may overlap, and a hypothesis that abandons a phrase may already have begun it again. A
complete phrase counts as soon as a token follows that does not continue the phrase's last word.
"""

from typing import Any, NamedTuple

from t2t_keras.decoding.constraints import number_of
from t2t_keras.decoding.rows import PADDING
from t2t_keras.ops import ops


class Phrases(NamedTuple):
    """The phrases of each sentence, and the tables of their automata."""

    tokens: Any  # [sentences, phrases, length], padded at the end; there may be empty phrases
    lengths: Any  # [sentences, phrases]
    earlier: Any  # number of equal phrases before each one: [sentences, phrases]
    # Whether the first j tokens equal the last j of the first i tokens: [sentences, phrases, i, j].
    borders: Any


class PhraseProgress(NamedTuple):
    """The progress of each hypothesis through each phrase: [sentences, hypotheses, phrases]."""

    matched: Any  # state of the automaton, from 0 to the length of the phrase
    written: Any  # number of complete occurrences that do not overlap


def phrases_of(tokens):
    """Returns the `Phrases` with these tokens, `[sentences, phrases, length]`.

    A phrase that is given k times must occur k times.
    """
    tokens = ops.cast(tokens, "int32")
    index = ops.arange(ops.shape(tokens)[1], dtype="int32")
    equal = ops.all(tokens[:, :, None] == tokens[:, None], axis=-1)
    earlier = ops.sum(ops.cast(equal & (index[None] < index[:, None]), "int32"), axis=-1)
    return Phrases(tokens, lengths_of(tokens), earlier, borders_of(tokens))


def lengths_of(tokens):
    """Returns the number of tokens along the last axis, without padding."""
    return number_of(tokens != PADDING)


def borders_of(tokens):
    """Returns the table `borders` of `Phrases`, for i up to `length` and j below it."""
    sentences, phrases, length = ops.shape(tokens)
    i, j = ops.arange(length + 1, dtype="int32")[:, None], ops.arange(length, dtype="int32")
    # Row d compares the phrase from token d on with the beginning of the phrase.
    shifted = ops.take(ops.concatenate([tokens, ops.zeros_like(tokens)], axis=2), i + j, axis=2)
    differs = ops.cast(shifted != tokens[:, :, None], "int32")
    differences = ops.cumsum(differs, axis=-1) - differs  # among the first j tokens
    differences = ops.reshape(differences, (sentences, phrases, (length + 1) * length))
    places = ops.maximum(i - j, 0) * length + j
    return (ops.take(differences, places, axis=2) == 0) & (j <= i)


def no_progress(phrases, hypotheses):
    """Returns the `PhraseProgress` of empty hypotheses, `hypotheses` for each sentence."""
    none = ops.repeat(ops.zeros_like(phrases.lengths)[:, None], hypotheses, axis=1)
    return PhraseProgress(none, none)


def advanced(phrases, progress, tokens, follows):
    """Returns the `PhraseProgress` after one more token, ids `[sentences, hypotheses]`."""
    matched, written = progress
    complete = matched == phrases.lengths[:, None]
    ends = complete & ops.take(follows, tokens)[..., None]
    matched = ops.transpose(ops.where(ends, 0, matched), (0, 2, 1))  # [.., phrases, hypotheses]
    borders = ops.take_along_axis(phrases.borders, matched[..., None], axis=2)
    extended = borders & (phrases.tokens[:, :, None] == tokens[:, None, :, None])
    lengths = ops.arange(1, ops.shape(phrases.tokens)[2] + 1, dtype="int32")
    matched = ops.max(ops.where(extended, lengths, 0), axis=-1)
    return PhraseProgress(ops.transpose(matched, (0, 2, 1)), written + ops.cast(ends, "int32"))


def remaining(phrases, progress, follows):
    """Returns an upper bound on the tokens needed for all phrases, `[sentences, hypotheses]`.

    At least one token of `next_tokens_of` always reduces the bound. A bound of 0 means that the end
    token may follow.
    """
    matched, written = progress
    counts = written == phrases.earlier[:, None]  # whether the next occurrence is for this phrase
    lengths = phrases.lengths[:, None]
    missing = ops.where(written <= phrases.earlier[:, None], lengths, 0)
    complete = counts & (matched == lengths)
    begun = ops.where(counts & ~complete, matched, 0)
    # The next token continues a begun phrase or ends complete ones; some tokens do both.
    both = ops.where(ops.take(follows, token_at(phrases, matched)), begun, 0)
    continued = ops.sum(missing, axis=-1) - ops.max(begun, axis=-1)
    ended = ops.sum(ops.where(complete, 0, missing), axis=-1) - ops.max(both, axis=-1)
    return ops.minimum(continued, ended)


def next_tokens_of(phrases, progress):
    """Returns ids that continue or begin a missing phrase, or padding.

    Shape: `[sentences, hypotheses, 2 · phrases]`.
    """
    is_missing = progress.written <= phrases.earlier[:, None]
    first = token_at(phrases, ops.zeros_like(progress.matched))
    tokens = ops.concatenate([token_at(phrases, progress.matched), first], axis=2)
    return ops.where(ops.concatenate([is_missing, is_missing], axis=2), tokens, PADDING)


def token_at(phrases, places):
    """Returns the token of each phrase at places `[sentences, hypotheses, phrases]`, or padding."""
    padded = ops.pad(phrases.tokens, [(0, 0), (0, 0), (0, 1)])
    places = ops.transpose(places, (0, 2, 1))
    return ops.transpose(ops.take_along_axis(padded, places, axis=2), (0, 2, 1))
