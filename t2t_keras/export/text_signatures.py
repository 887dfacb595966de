"""The signatures of a SavedModel that takes text: translations, scores and attention weights.

They are for TensorFlow Serving and other programs that do not have this package. They convert texts
to batches of ids as in `translating/`, and call the signatures that take ids.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from t2t_keras.decoding.batches import LONGEST
from t2t_keras.decoding.rows import PADDING
from t2t_keras.decoding.search_config import MOST, ROW_OPTIONS
from t2t_keras.export.signature_names import ATTENTION_LONGEST, Ids
from t2t_keras.export.text_parts import complete, in_batches, joined, padded, parts, split_at

TEXTS = tf.TensorSpec([None], tf.string)
BATCH_TOKENS = 4096  # maximum rows × length of a batch, which has at least one row


class Language(NamedTuple):
    """The pieces of a language.

    If it has a lead, the first ids of a text, the begin id or a language code, may apply to all of
    its parts. The tokenizer then has `leads(ids)`, which returns their number.
    """

    tokenizer: Any  # has `tokenize(texts)` and `detokenize(ids)`, which work in graphs
    pieces: Any  # the text of each id
    begins_word: Any  # for each id, whether it begins a word
    start: tuple = ()  # ids that begin every text
    has_lead: bool = False


class TextSignatures(tf.Module):
    """The signatures of a model that takes text; `ids` are those from `id_signatures`."""

    def __init__(self, model, ids, config, source, target):
        super().__init__()
        self.model, self.ids, self.config = model, ids, config
        self.source, self.target = source, target
        self.begins_word = tf.constant(source.begins_word)
        self.source_pieces = tf.constant(source.pieces)
        self.target_pieces = tf.constant(target.pieces)
        self.longest = min(model.longest or LONGEST, LONGEST)

    def translate(self, text):
        """Returns the n best `translations` [batch, n] of each text and their `scores`."""
        ids, text_of = self.parts(text)
        n = self.config.n_best
        return self.translated(
            ids, text_of, tf.shape(text)[0], lambda _, source: self.ids[Ids.SEARCH](source), n
        )

    def parts(self, texts):
        """Splits texts into parts that are short enough. Returns each part's ids and text index."""
        start, ids = self.source.start, self.source.tokenizer.tokenize(texts)
        has_lead, none = self.source.has_lead, tf.zeros([ids.nrows()], tf.int32)
        lead, ids = split_at(ids, self.source.tokenizer.leads(ids) if has_lead else none)
        room = self.longest - 1 - len(start) - lead.row_lengths()
        ids, text_of = parts(ids, self.begins_word, room)
        return complete(tf.concat([tf.gather(lead, text_of), ids], axis=1), start), text_of

    def translate_with_options(self, text, *options):
        """Returns `translations` and `scores` [batch, widest beam] of texts with their own options.

        The options are the prefix and `ROW_OPTIONS`, each with one value per text or one for all.
        """
        count, config = tf.shape(text)[0], self.config
        given = dict(zip(("prefix", *ROW_OPTIONS), options, strict=True))
        given = {name: for_each(name, value, count) for name, value in given.items()}
        with tf.control_dependencies(option_checks(config, **given)):
            prefix = self.target.tokenizer.tokenize(tf.identity(given.pop("prefix")))
        ids, text_of = self.parts(text)
        prefix = in_first_parts(prefix, text_of)
        given = {name: tf.gather(value, text_of) for name, value in given.items()}

        def search(rows, source):
            chosen = (tf.gather(value, rows) for value in given.values())
            prefixes = tf.cast(tf.gather(prefix, rows).to_tensor(), tf.int32)
            return self.ids[Ids.OPTIONS](source, prefixes, *chosen)

        return self.translated(ids, text_of, tf.shape(text)[0], search, config.beam)

    def translated(self, ids, text_of, count, search, n):
        """Returns the joined translations of the parts of `count` texts.

        `search` takes row indices and source ids, and returns n tokens and scores for each row.
        """

        def translate(rows):
            source = padded(tf.gather(ids, rows), self.longest)
            found = search(rows, source)
            tokens = tf.reshape(found["tokens"], (-1, tf.shape(found["tokens"])[2]))
            texts = tf.reshape(self.target.tokenizer.detokenize(tokens), (-1, n))
            return texts, tf.ensure_shape(found["scores"], [None, n])

        empty = tf.zeros([0, n], tf.string), tf.zeros([0, n])
        texts, scores = in_batches(translate, ids.row_lengths(), BATCH_TOKENS, empty)
        return joined(texts, scores, text_of, count)

    def score(self, source, target):
        """Returns log P of each target given its source, as `log_probabilities` [batch]."""
        sides = self.with_ends(source, target)
        tf.debugging.assert_equal(
            tf.shape(source), tf.shape(target), "each source must have a target"
        )
        lengths = tf.maximum(*(side.row_lengths() for side in sides))
        with self.checked_length(lengths, self.longest):
            lengths = tf.identity(lengths)

        def log_p_of(rows):
            batch = [padded(tf.gather(side, rows), self.model.longest) for side in sides]
            of_tokens = tf.cast(self.ids[Ids.LOG_P](*batch)["log_probabilities"], tf.float64)
            return (tf.cast(tf.reduce_sum(of_tokens, axis=1), tf.float32),)

        (log_p,) = in_batches(log_p_of, lengths, BATCH_TOKENS // 2, (tf.zeros([0]),))
        return {"log_probabilities": log_p}

    def score_pieces(self, text, translation):
        """Returns log P of each piece of a `translation` of `text`; padding is "" and 0."""
        source, target = self.short_pair(text, translation)
        return {
            "target_pieces": pieces_of(target, self.target_pieces),
            "log_probabilities": self.ids[Ids.LOG_P](source, target)["log_probabilities"],
        }

    def attention(self, text, translation):
        """Returns pieces, and the weights `encoder`, `decoder` and `cross` as far as they exist.

        They are [batch, layers, heads, queries, keys]. In `decoder` and `cross`, row i contains the
        weights with which target piece i is written.
        """
        source, target = self.short_pair(text, translation)
        return self.pieces(source, target) | self.ids[Ids.ALL_ATTENTION](source, target)

    def align(self, text, translation):
        """Returns pieces, and the `weights` [batch, target, source] of the alignment head."""
        source, target = self.short_pair(text, translation)
        return self.pieces(source, target) | self.ids[Ids.ATTENTION](source, target)

    def pieces(self, source, target):
        """Returns the pieces of both sides, padded with ""."""
        return {
            "source_pieces": pieces_of(source, self.source_pieces),
            "target_pieces": pieces_of(target, self.target_pieces),
        }

    def short_pair(self, text, translation):
        """Returns the padded ids of texts and translations after checking their lengths."""
        source, target = (ids.to_tensor() for ids in self.with_ends(text, translation))
        lengths = tf.concat([tf.shape(source), tf.shape(target)], 0)[1::2]
        with self.checked_length(lengths, min(self.longest, ATTENTION_LONGEST)):
            return tf.identity(source), tf.identity(target)

    def with_ends(self, source, target):
        """Tokenizes sources and targets; each row of ids ends with the end token."""
        sides = (self.source, source), (self.target, target)
        return [
            complete(language.tokenizer.tokenize(texts), language.start)
            for language, texts in sides
        ]

    def checked_length(self, lengths, longest):
        """Returns a context manager whose operations run only if no length exceeds the limit.

        Memory grows with the square of the length, so nothing may be computed before the check.
        """
        message = f"a text must have at most {longest} tokens, including the end token"
        return tf.control_dependencies([tf.debugging.assert_less_equal(lengths, longest, message)])


def in_first_parts(prefixes, text_of):
    """Returns the ragged prefix of each part: empty, except in the first part of a text."""
    first = tf.concat([[True], text_of[1:] != text_of[:-1]], axis=0)[: tf.size(text_of)]
    before, _ = split_at(tf.gather(prefixes, text_of), tf.where(first, tf.int32.max, 0))
    return before


def default_options(config):
    """Returns {input of `translate_with_options` except the text: its default, a tensor}."""
    defaults = {name: getattr(config, name) for name in ROW_OPTIONS} | {"n_best": 1}
    tensors = {name: tf.constant([defaults[name]], ROW_OPTIONS[name]) for name in ROW_OPTIONS}
    return {"prefix": tf.constant([""])} | tensors


def pieces_of(ids, pieces):
    return tf.where(ids == PADDING, "", tf.gather(pieces, ids))


def option_checks(config, prefix, beam, n_best, **others):
    """Returns assertions about the options of texts, which TensorFlow Serving does not check."""
    bounds = {"beam": (beam, 1, config.beam, config.beam), "n_best": (n_best, 1, beam, "the beam")}
    bounds |= {name: (each, 0, MOST[name], f"{MOST[name]:g}") for name, each in others.items()}
    checks = [
        tf.debugging.Assert(
            tf.reduce_all((values >= least) & (values <= most)),
            [f"`{name}` must be from {least} to {named}. Received:", values],
        )
        for name, (values, least, most, named) in bounds.items()
    ]
    if config.constrain:
        allowed = "`prefix` must be empty: the outputs of this SavedModel are trees"
        checks.append(tf.debugging.Assert(tf.reduce_all(prefix == ""), [allowed]))
    return checks


def for_each(name, values, count):
    """Returns an option with a value for each of `count` texts."""
    size = tf.size(values)
    message = f"`{name}` must have a value for each text, or one for all. Received, and texts:"
    fits = tf.debugging.Assert((size == count) | (size == 1), [message, size, count])
    with tf.control_dependencies([fits]):
        return tf.broadcast_to(values, [count])
