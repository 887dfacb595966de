"""Converts texts to batches of token ids. Splits long texts into parts; joins translations."""

import tensorflow as tf

from t2t_keras.decoding.batches import rounded
from t2t_keras.decoding.rows import END
from t2t_keras.export.signature_names import NO_SCORE


def split_at(ids, counts):
    """Splits each row of ragged ids after `counts` ids. Returns both halves, ragged int32."""
    ids = ids.with_row_splits_dtype(tf.int32)
    before = tf.ragged.range(ids.row_lengths(), row_splits_dtype=tf.int32) < counts[:, None]
    return tf.ragged.boolean_mask(ids, before), tf.ragged.boolean_mask(ids, ~before)


def parts(ids, begins_word, room):
    """Splits the ragged ids of texts into parts, between words where possible.

    A part has at most as many tokens as `room` has for its text. Returns the ragged ids of the
    parts, and the index of each part's text. An empty text has no parts.
    """
    flat, starts = ids.flat_values, tf.cast(ids.row_splits, tf.int32)
    word_starts = tf.cast(tf.where(tf.gather(begins_word, flat))[:, 0], tf.int32)
    word_starts = tf.concat([[-1], word_starts], axis=0)

    def texts_of(cuts):
        return tf.searchsorted(starts[:-1], cuts[:-1], side="right") - 1

    def too_long(cuts):
        return cuts[1:] - cuts[:-1] > tf.gather(room, texts_of(cuts))

    def cut(cuts):
        """Splits each part that is too long into two, as late as possible."""
        begin = tf.boolean_mask(cuts[:-1], too_long(cuts))
        last = begin + tf.gather(room, tf.boolean_mask(texts_of(cuts), too_long(cuts)))
        index = tf.searchsorted(word_starts, last, side="right") - 1
        word = tf.gather(word_starts, index)
        new_cuts = tf.where(word > begin, word, last)
        return (tf.sort(tf.concat([cuts, new_cuts], axis=0)),)

    any_count = (tf.TensorShape([None]),)
    (cuts,) = tf.while_loop(
        lambda cuts: tf.reduce_any(too_long(cuts)), cut, (starts,), shape_invariants=any_count
    )
    cuts, _ = tf.unique(cuts)
    return tf.RaggedTensor.from_row_splits(flat, cuts), texts_of(cuts)


def complete(ids, start):
    """Puts the ids `start` before each row of ragged ids, and the end token after it."""
    ids = ids.with_row_splits_dtype(tf.int32)

    def in_each_row(added):
        rows = tf.tile([added], [ids.nrows(), 1])
        return tf.RaggedTensor.from_tensor(rows, row_splits_dtype=tf.int32)

    before = [in_each_row([*start])] if len(start) else []
    return tf.concat([*before, ids, in_each_row([END])], axis=1)


def padded(ids, longest):
    """Pads ragged ids to the same width as `padded` in `decoding/batches.py`."""
    ids = ids.to_tensor()
    width = rounded(tf.shape(ids)[1])
    width = width if longest is None else tf.minimum(width, longest)
    return tf.pad(ids, [(0, 0), (0, width - tf.shape(ids)[1])])


def in_batches(function, lengths, tokens, empty):
    """Calls a function on batches of row indices, longest rows first.

    The function returns a tuple of tensors with a row for each index, and `empty` for no rows. A
    batch has at least one row, and at most `tokens` as rows × width. Returns the results for all
    rows, in their original order.
    """
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)

    def batch(start, *results):
        width = rounded(lengths[order[start]])
        rows = order[start : start + tf.maximum(1, tokens // width)]
        results = [tf.concat(both, axis=0) for both in zip(results, function(rows), strict=True)]
        return start + tf.size(rows), *results

    loop = (tf.constant(0), *empty)
    shapes = [tf.TensorShape([])] + [tf.TensorShape([None, *part.shape[1:]]) for part in empty]
    _, *results = tf.while_loop(
        lambda start, *_: start < tf.size(order), batch, loop, shape_invariants=tuple(shapes)
    )
    positions = tf.argsort(order)
    return [tf.gather(part, positions) for part in results]


def joined(texts, scores, text_of, count):
    """Joins the translations of parts, `[parts, n]`, and adds their scores.

    Returns `translations` and `scores` of `count` texts, both `[count, n]`. The only translation of
    an empty text is empty.
    """
    n = scores.shape[1]
    texts = tf.strings.regex_replace(texts, "[\r\n]", " ")
    of_parts = tf.RaggedTensor.from_value_rowids(texts, text_of, nrows=count)
    texts = tf.stack([join_words(of_parts[:, :, rank]) for rank in range(n)], axis=1)
    scores = tf.math.unsorted_segment_sum(tf.cast(scores, tf.float64), text_of, count)
    is_empty = tf.equal(of_parts.row_lengths(), 0)[:, None]
    exists = tf.math.is_finite(scores) & (~is_empty | (tf.range(n) == 0))
    return {
        "translations": tf.where(exists, texts, ""),
        "scores": tf.where(exists, tf.cast(scores, tf.float32), NO_SCORE),
    }


def join_words(texts):
    """Joins the non-empty texts of each ragged row with spaces."""
    texts = tf.ragged.boolean_mask(texts, texts != "")
    return tf.strings.reduce_join(texts, axis=1, separator=" ")
