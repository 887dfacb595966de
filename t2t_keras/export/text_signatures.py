"""What a SavedModel answers: text in, translations, scores or attention weights out.

`translate` does in a graph what `decoding/translator.py` does outside of one, and `score` what
`decoding/scoring.py` does; batches are put together in the same way, so that the answers are
the same to the byte.
"""

import tensorflow as tf

from t2t_keras.decoding.batches import rounded
from t2t_keras.decoding.hypotheses import BEGIN, END, PADDING
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.decoding.translator import LONGEST
from t2t_keras.export.staged_search import staged_search

NO_SCORE = tf.float32.min  # of a translation that there is not: JSON has no −∞
TEXTS = tf.TensorSpec([None], tf.string)
ATTENTION_LONGEST = 256  # tokens of a text whose attention is asked for


class TextSignatures(tf.Module):
    """The signatures of a model that takes text.

    Args:
        model: a `Transformer`.
        method: the search, from `method_of`.
        tokenizer: has `tokenize(texts)` and `detokenize(ids)`, in a graph.
        pieces: how each id is written.
        begins_word: of each id, whether it begins a word.
        batch_tokens: rows × length of a batch, at most (one row is always taken).
    """

    def __init__(self, model, method, tokenizer, pieces, begins_word, batch_tokens=4096):
        super().__init__()
        self.model, self.method, self.tokenizer = model, method, tokenizer
        self.pieces = tf.constant(pieces)
        self.begins_word = tf.constant(begins_word)
        self.batch_tokens = batch_tokens
        self.longest = min(model.longest or LONGEST, LONGEST)

    def translate_n_best(self, text):
        """The best of each text: `translations` [batch, n], `scores` [batch, n]."""
        ids, text_of = parts(self.tokenizer.tokenize(text), self.begins_word, self.longest - 1)
        ids = with_end(ids)
        n = self.method.config.n_best

        def translated(rows):
            source = padded(tf.gather(ids, rows), self.longest)
            tokens, scores = staged_search(self.method, source, self.model.longest)
            texts = self.tokenizer.detokenize(tf.reshape(tokens, (-1, tf.shape(tokens)[2])))
            return tf.reshape(texts, (-1, n)), scores

        lengths = ids.row_lengths()
        nothing = tf.zeros([0, n], tf.string), tf.zeros([0, n])
        texts, scores = in_batches(translated, lengths, self.batch_tokens, nothing)
        return joined(texts, scores, text_of, tf.shape(text)[0])

    def score(self, source, target):
        """log P of each target, given its source: `log_probabilities` [batch]."""
        sides = [with_end(self.tokenizer.tokenize(texts)) for texts in (source, target)]
        tf.debugging.assert_equal(
            tf.shape(source), tf.shape(target), "there must be a target for each source"
        )
        lengths = tf.maximum(*(side.row_lengths() for side in sides))
        if self.model.longest is not None:
            self.check_length(lengths, self.model.longest)

        def scored(rows):
            batch = [padded(tf.gather(side, rows), self.model.longest) for side in sides]
            of_tokens = tf.cast(log_probabilities(self.model, *batch), tf.float64)
            return (tf.cast(tf.reduce_sum(of_tokens, axis=1), tf.float32),)

        (log_p,) = in_batches(scored, lengths, self.batch_tokens // 2, (tf.zeros([0]),))
        return {"log_probabilities": log_p}

    def attention(self, text, translation):
        """Where each head looks, when the model reads a text and writes a translation.

        The pieces of both, "" behind the last, and the weights of the encoder, the decoder and
        from the decoder to the encoder: [batch, layers, heads, looking, looked at]. Row i of the
        decoder's is about the writing of piece i; its columns are what was read by then: begin
        and the pieces before.
        """
        source, target = (
            with_end(self.tokenizer.tokenize(texts)).to_tensor() for texts in (text, translation)
        )
        longest = min(self.longest, ATTENTION_LONGEST)
        self.check_length(tf.concat([tf.shape(source), tf.shape(target)], 0)[1::2], longest)
        read = tf.concat([tf.fill([tf.shape(target)[0], 1], BEGIN), target[:, :-1]], axis=1)
        weights = self.model.attention_weights({"source": source, "target": read})
        layers = range(self.model.config.num_layers)

        def of_layers(name):
            return tf.stack([weights[name.format(layer)] for layer in layers], axis=1)

        return {
            "source_pieces": self.written(source),
            "target_pieces": self.written(target),
            "encoder": of_layers("encoder/{}/self_attention"),
            "decoder": of_layers("decoder/{}/self_attention"),
            "cross": of_layers("decoder/{}/cross_attention"),
        }

    def written(self, ids):
        return tf.where(ids == PADDING, "", tf.gather(self.pieces, ids))

    def check_length(self, lengths, longest):
        message = f"a text must have at most {longest} pieces, its end included"
        tf.debugging.assert_less_equal(lengths, longest, message)


def parts(ids, begins_word, room):
    """The parts of each text: no longer than `room`, cut where a word begins if it can be.

    Args:
        ids: those of each text, ragged.
        begins_word: of each id, whether it begins a word.
        room: how many ids a part may have.

    Returns:
        The ids of each part, ragged, and the number of the text that it is of. A text of
        nothing has no part.
    """
    flat, starts = ids.flat_values, tf.cast(ids.row_splits, tf.int32)
    words = tf.cast(tf.where(tf.gather(begins_word, flat))[:, 0], tf.int32)
    words = tf.concat([[-1], words], axis=0)

    def one_is_too_long(cuts):
        return tf.reduce_any(cuts[1:] - cuts[:-1] > room)

    def cut(cuts):
        """Cuts each part that is too long once, as late as can be."""
        begin = tf.boolean_mask(cuts[:-1], cuts[1:] - cuts[:-1] > room)
        word = tf.gather(words, tf.searchsorted(words, begin + room, side="right") - 1)
        at = tf.where(word > begin, word, begin + room)
        return (tf.sort(tf.concat([cuts, at], axis=0)),)

    any_number = (tf.TensorShape([None]),)
    (cuts,) = tf.while_loop(one_is_too_long, cut, (starts,), shape_invariants=any_number)
    cuts, _ = tf.unique(cuts)
    text_of = tf.searchsorted(starts, cuts[:-1], side="right") - 1
    return tf.RaggedTensor.from_row_splits(flat, cuts), text_of


def with_end(ids):
    """Ids of each text, ragged, and the end behind them."""
    ids = ids.with_row_splits_dtype(tf.int32)
    ends = tf.RaggedTensor.from_tensor(tf.fill([ids.nrows(), 1], END), row_splits_dtype=tf.int32)
    return tf.concat([ids, ends], axis=1)


def padded(ids, longest):
    """Ragged ids as those who call from Python pad them."""
    ids = ids.to_tensor()
    width = rounded(tf.shape(ids)[1])
    width = width if longest is None else tf.minimum(width, longest)
    return tf.pad(ids, [(0, 0), (0, width - tf.shape(ids)[1])])


def in_batches(function, lengths, tokens, nothing):
    """Calls a function with the numbers of some rows until it has seen all, the longest first.

    Args:
        function: gives a tuple of tensors, the rows first.
        lengths: of each row.
        tokens: rows × width of a batch, at most (one row is always taken).
        nothing: what the function gives for no rows.

    Returns:
        What the function gave, in the order of the rows.
    """
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)

    def batch(start, *found):
        width = rounded(lengths[order[start]])
        rows = order[start : start + tf.maximum(1, tokens // width)]
        found = [tf.concat(both, axis=0) for both in zip(found, function(rows), strict=True)]
        return start + tf.size(rows), *found

    loop = (tf.constant(0), *nothing)
    shapes = [tf.TensorShape([])] + [tf.TensorShape([None, *part.shape[1:]]) for part in nothing]
    _, *found = tf.while_loop(
        lambda start, *_: start < tf.size(order), batch, loop, shape_invariants=tuple(shapes)
    )
    back = tf.argsort(order)
    return [tf.gather(part, back) for part in found]


def joined(texts, scores, text_of, count):
    """The translations of each text, from those of its parts; see `TextSignatures`."""
    n = scores.shape[1]
    texts = tf.strings.regex_replace(texts, "[\r\n]", " ")
    of_parts = tf.RaggedTensor.from_value_rowids(texts, text_of, nrows=count)
    texts = tf.stack([in_one(of_parts[:, :, rank]) for rank in range(n)], axis=1)
    scores = tf.math.unsorted_segment_sum(tf.cast(scores, tf.float64), text_of, count)
    # The one translation of nothing is nothing.
    no_part = tf.equal(of_parts.row_lengths(), 0)[:, None]
    there_is = tf.math.is_finite(scores) & (~no_part | (tf.range(n) == 0))
    return {
        "translations": tf.where(there_is, texts, ""),
        "scores": tf.where(there_is, tf.cast(scores, tf.float32), NO_SCORE),
    }


def in_one(texts):
    """The texts of each row, ragged, with spaces between those that are not empty."""
    texts = tf.ragged.boolean_mask(texts, texts != "")
    return tf.strings.reduce_join(texts, axis=1, separator=" ")
