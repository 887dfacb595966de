"""Constraint that every output is a tree over the words of its source (§6.3).

A tree is written as brackets and leaves, such as `(S (NP XX )NP (VP XX )VP )S`, where XX may also
be a tag or the word itself. A token is allowed only if it continues such a tree: brackets balance,
a closing bracket has the label of its constituent, no constituent is empty, and there is one
outermost constituent, with exactly one leaf for each word. The end token is allowed only after a
complete tree.

The words of the leaves are given, even if the model finds them unlikely. Without a bound on their
cost, the search would prefer to open more and more brackets. So the first piece of a leaf costs at
most `SURPRISE` nats more than all pieces of text together, and its other pieces cost nothing.

Which tokens are allowed depends only on a few numbers for each hypothesis. They are computed from
the tokens of the hypothesis, so the search needs no further state.
"""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.decoding.constraints import IMPOSSIBLE, number_of
from t2t_keras.decoding.rows import END, PADDING
from t2t_keras.ops import ops

DEEPEST = 299  # maximum nesting of constituents, which pipelines/text/treebank.py can read
SURPRISE = 2.0  # maximum extra cost of the first piece of a leaf, in nats
# Placeholder id for any piece that begins a word.
ANY = -1
# Placeholder id that matches no token.
NONE = -2
# Classes of target ids.
OTHER, OPENING, CLOSING, WORD_START, CONTINUATION = range(5)


class TreeVocabulary(NamedTuple):
    """Lookup tables for a vocabulary of trees.

    The classes of target ids are `OPENING` and `CLOSING` brackets, pieces of text that begin a word
    (`WORD_START`) or continue one (`CONTINUATION`), and `OTHER`.
    """

    leaves: str  # how a word is written: "tag", "XX" or "word"
    classes: np.ndarray  # class of each target id
    closings: np.ndarray  # for each opening bracket, the id of its closing bracket; 0 elsewhere
    begins_word: np.ndarray  # for each source id, whether it begins a word
    start: int  # number of ids that every source begins with, such as its tag
    written: np.ndarray  # for each source id, its target id in a leaf
    placeholder: tuple  # ids of "XX"


class Leaves(NamedTuple):
    """The pieces of each sentence's leaves, in the order in which they must be generated."""

    pieces: Any  # ids, or `ANY` for tags; padded at the end: [sentences, pieces]
    starts: Any  # whether each piece is the first one of its leaf: [sentences, pieces]


class TreeConstraint:
    """Allows only tokens that continue a tree; see the module's docstring."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary

    def leaves_of(self, source):
        """Returns the `Leaves` of sources, ids `[sentences, length]`."""
        table = self.vocabulary
        source = source[:, table.start :]
        is_piece = (source != PADDING) & (source != END)
        index = ops.arange(ops.shape(source)[1], dtype="int32")
        begins = is_piece & (ops.take(table.begins_word, source) | (index == 0))
        if table.leaves == "word":
            return Leaves(ops.where(is_piece, ops.take(table.written, source), PADDING), begins)
        leaf = np.array(table.placeholder if table.leaves == "XX" else (ANY,), "int32")
        words = ops.sum(ops.cast(begins, "int32"), axis=1, keepdims=True)
        index = ops.arange(ops.shape(source)[1] * len(leaf), dtype="int32")
        is_piece = index < words * len(leaf)
        pieces = ops.where(is_piece, ops.take(leaf, index % len(leaf)), PADDING)
        return Leaves(pieces, is_piece & (index % len(leaf) == 0))

    def start(self, source, limits, longest, extras):
        """Returns the limits `[sentences]`, raised where too low, and `extras` with the leaves.

        Each limit has room for the leaves, a pair of brackets and the end token. If `longest` is
        smaller than that, the tree is cut off.
        """
        leaves = self.leaves_of(source)
        needed = number_of(leaves.pieces != PADDING) + 3
        needed = needed if longest is None else ops.minimum(needed, longest)
        return ops.maximum(limits, needed), {**extras, "leaves": leaves}

    def counters(self, tokens):
        """Returns the position of hypotheses in their trees, given ids `[…, length]`.

        This is the number of open constituents; the number of leaf pieces generated, where a tag
        counts once; the class of the newest token, `OTHER` at the beginning; and the id of the
        bracket that closes the innermost open constituent. Each is `[sentences, hypotheses]`.
        """
        table = self.vocabulary
        classes = ops.take(table.classes, tokens)
        opens, closes = classes == OPENING, classes == CLOSING
        depths = ops.cumsum(ops.cast(opens, "int32") - ops.cast(closes, "int32"), axis=-1)
        depth = depths[..., -1]
        is_text = ~opens & ~closes & (tokens > END)
        counted = classes == WORD_START if table.leaves == "tag" else is_text
        # The innermost constituent begins with the last opening bracket that led to this depth.
        index = ops.arange(ops.shape(tokens)[2], dtype="int32")
        innermost = last_of(opens & (depths == depth[..., None]), index)
        label = ops.take_along_axis(tokens, innermost[..., None], axis=2)[..., 0]
        newest = ops.take_along_axis(classes, last_of(tokens != PADDING, index)[..., None], axis=2)
        return depth, number_of(counted), newest[..., 0], ops.take(table.closings, label)

    def constrained(self, logits, leaves, tokens, position, limits):
        """Returns logits `[sentences, hypotheses, vocabulary]`, with −∞ for forbidden tokens.

        At least one token is allowed. If there is no room left to complete the tree, this is the
        next token of its shortest completion. `tokens` are padded after `position`.
        """
        table = self.vocabulary
        depth, written, newest, closing = self.counters(tokens)
        missing = number_of(leaves.pieces != PADDING)[:, None] - written
        completing = missing + depth + 1  # tokens of the shortest completion, with the end token
        room = limits[:, None] - position - 1  # tokens that fit after the next one
        place = ops.minimum(written, ops.shape(leaves.pieces)[1] - 1)
        piece, begins = (ops.take_along_axis(x, place, axis=1) for x in leaves)
        started, has_words = position > 0, missing > 0
        inside_leaf = started & has_words & ~begins

        fits = (completing < room) & (depth < DEEPEST)
        may_open = has_words & ~inside_leaf & (fits | ~started)
        may_close = (depth > 0) & (newest != OPENING) & ~inside_leaf & (~has_words | (depth > 1))
        piece = ops.where(started & has_words, piece, NONE)
        closing = ops.where(may_close, closing, NONE)
        end = ops.where((depth == 0) & ~has_words, END, NONE)

        size = logits.shape[-1]
        classes = np.pad(table.classes, (0, size - len(table.classes)), constant_values=OTHER)
        ids = np.arange(size, dtype="int32")
        allowed = may_open[..., None] & (classes == OPENING)
        allowed = allowed | (ids == closing[..., None]) | (ids == end[..., None])
        if table.leaves == "tag":
            in_leaf = (newest == WORD_START) | (newest == CONTINUATION)
            continues = in_leaf & (completing <= room)
            allowed = allowed | ((piece == ANY)[..., None] & (classes == WORD_START))
            allowed = allowed | (continues[..., None] & (classes == CONTINUATION))
            return ops.where(allowed, logits, IMPOSSIBLE)
        of_piece = self.of_piece(logits, piece, inside_leaf, classes)
        return ops.where(ids == piece[..., None], of_piece, ops.where(allowed, logits, IMPOSSIBLE))

    def of_piece(self, logits, piece, inside_leaf, classes):
        """Returns the logit of each hypothesis' next leaf piece, `[sentences, hypotheses, 1]`.

        `inside_leaf` says whether other pieces of the leaf precede it; `classes` are those of all
        ids.
        """
        is_text = (classes != OPENING) & (classes != CLOSING) & (np.arange(len(classes)) > END)
        any_text = ops.where(is_text | inside_leaf[..., None], logits, IMPOSSIBLE)
        any_text = ops.logsumexp(any_text, axis=-1, keepdims=True)
        own = ops.take_along_axis(logits, ops.maximum(piece, 0)[..., None], axis=2)
        return ops.where(inside_leaf[..., None], any_text, ops.maximum(own, any_text - SURPRISE))


def last_of(booleans, index):
    """Returns the last index along the last axis where `booleans` are true, or 0."""
    return ops.max(ops.where(booleans, index, 0), axis=-1)
