"""Required phrases in a graph: from texts to ids, with the checks of `PhraseEncoder`."""

import tensorflow as tf

from t2t_keras.decoding.special_ids import BEGIN
from t2t_keras.export.signature_constants import REQUIRED_LONGEST

SEPARATOR = "\t"


class PhraseIds(tf.Module):
    """Encodes phrases that translations must contain.

    Args:
        language: the target `Language`.
        banned: ids that the search never writes.
        longest: maximum length of an output, in tokens. None: no maximum.
    """

    def __init__(self, language, banned=(), longest=None):
        super().__init__()
        self.language, self.longest = language, longest
        self.begins_word = tf.constant(language.begins_word)
        self.is_banned = tf.constant([id in banned for id in range(len(language.begins_word))])

    def __call__(self, texts):
        """Returns the ids of the phrases of each text, ragged `[batch, (phrases), (ids)]`.

        Args:
            texts: strings `[batch]`: phrases, separated by tabs.
        """
        phrases = self.language.normalize(tf.strings.split(texts, SEPARATOR))
        phrases = tf.ragged.boolean_mask(phrases, phrases != "")
        ids = self.language.tokenizer.tokenize(phrases.flat_values)
        ids = ids.with_row_splits_dtype(tf.int64)
        ids = tf.ragged.boolean_mask(ids, ids != BEGIN)
        with tf.control_dependencies(self.checks(phrases.flat_values, ids)):
            ids = ids.with_flat_values(tf.identity(ids.flat_values))
        return phrases.with_flat_values(ids)

    def checks(self, phrases, ids):
        """Returns the assertions that translations can contain the phrases.

        Args:
            phrases: strings.
            ids: ragged ids of each of them.
        """
        if self.language.ends_phrase is None:
            never = tf.zeros_like(phrases, tf.bool)
            reason = "cannot be used: the pieces of this vocabulary do not show where words begin"
            return [check(phrases, never, reason)]
        first = tf.ragged.map_flat_values(tf.gather, self.begins_word, ids)[:, :1]
        banned = tf.ragged.map_flat_values(tf.gather, self.is_banned, ids)
        written = self.language.tokenizer.detokenize(ids)
        return [
            check(phrases, written == phrases, "must be writable with the vocabulary of the model"),
            check(
                phrases,
                tf.reduce_any(first, axis=1),
                "must begin with a piece that begins a word",
            ),
            check(phrases, ~tf.reduce_any(banned, axis=1), "must not contain banned pieces"),
        ]

    def length_check(self, phrases, prefix):
        """Returns the assertion that the phrases of a text are not too long, nor with its prefix.

        Args:
            phrases: ragged `[batch, (phrases), (ids)]`.
            prefix: ragged `[batch, (ids)]`.
        """
        lengths = tf.reduce_sum(phrases.row_lengths(2), axis=1)
        room = (self.longest or lengths.dtype.max) - tf.where(lengths > 0, prefix.row_lengths(), 0)
        fits = lengths <= tf.minimum(room, REQUIRED_LONGEST)
        limit = f"{REQUIRED_LONGEST} pieces"
        limit += f", and {self.longest} with `prefix`" if self.longest else ""
        received = tf.strings.as_string(tf.reduce_max(tf.boolean_mask(lengths, ~fits)))
        message = f"the phrases of `require` may have {limit}. Received: " + received
        return tf.debugging.Assert(tf.reduce_all(fits), [message])


def check(phrases, valid, allowed):
    """Returns the assertion that all phrases are valid."""
    wrong = tf.boolean_mask(phrases, ~valid)[:1]
    received = tf.strings.reduce_join(wrong, separator="")
    message = f"the phrases of `require` {allowed}. Received: " + received
    return tf.debugging.Assert(tf.reduce_all(valid), [message])
