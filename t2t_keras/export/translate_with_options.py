"""The signature of a SavedModel in which each text has its own options.

It is the graph version of `Run.translate(texts, split=…, beam=…, n_best=…, alpha=…)` and of the
prefixes of a `Translator`. It checks the options, because TensorFlow Serving does not.
"""

import tensorflow as tf

from t2t_keras.decoding.beam_search_with_options import BeamSearchWithOptions
from t2t_keras.export.sentence_joints import joined_sentences, sentences_of
from t2t_keras.export.staged_search import staged_search
from t2t_keras.export.text_signatures import complete, in_batches, joined, padded, parts

TYPES = {
    "text": tf.string,
    "split": tf.bool,
    "prefix": tf.string,
    "beam": tf.int32,
    "n_best": tf.int32,
    "alpha": tf.float32,
}
SPECS = [tf.TensorSpec([None], dtype, name) for name, dtype in TYPES.items()]


def default_options(config, split):
    """Returns the default of each option, a tensor with one value, in the order of `SPECS`.

    Args:
        config: the `SearchConfig` of the export.
        split: whether texts are split into sentences by default.
    """
    values = {"split": split, "prefix": "", "beam": config.beam, "n_best": 1, "alpha": config.alpha}
    return [tf.constant([value], TYPES[name]) for name, value in values.items()]


class TranslateWithOptions(tf.Module):
    """The signature, as a function of tensors.

    Args:
        signatures: the `TextSignatures` of the export.
        split_sentences: function from texts to their sentences and the separators after these, as
            ragged tensors.
    """

    def __init__(self, signatures, split_sentences):
        super().__init__()
        self.signatures, self.split_sentences = signatures, split_sentences
        self.method = BeamSearchWithOptions(signatures.model, signatures.method.config)

    def __call__(self, text, split, prefix, beam, n_best, alpha):
        """Returns `translations` and `scores` [batch, widest beam] of `text` [batch].

        Args:
            text: the texts.
            split, prefix, beam, n_best, alpha: a value for each text, or one for all.
        """
        count = tf.shape(text)[0]
        options = {"beam": beam, "n_best": n_best, "alpha": alpha}
        for_texts = {"split": split, "prefix": prefix, **options}
        for_texts = {name: for_each(name, value, count) for name, value in for_texts.items()}
        with tf.control_dependencies(self.checks(**{name: for_texts[name] for name in options})):
            text = tf.identity(text)
        split, prefix = for_texts.pop("split"), for_texts.pop("prefix")
        sentences, separators, text_of = sentences_of(text, split, self.split_sentences)
        ids = self.signatures.source.tokenizer.tokenize(sentences)
        start = self.signatures.source.start
        room = self.signatures.longest - 1 - len(start)
        ids, sentence_of = parts(ids, self.signatures.begins_word, room)
        text_of_part = tf.gather(text_of, sentence_of)
        # Only the first part of a text begins with its prefix.
        prefix = tf.where(is_first(text_of_part), tf.gather(prefix, text_of_part), "")
        prefix = self.signatures.target.tokenizer.tokenize(prefix)
        of_parts = {name: tf.gather(each, text_of_part) for name, each in for_texts.items()}
        texts, scores = self.translate_parts(complete(ids, start), prefix, of_parts)
        outputs = joined(texts, scores, sentence_of, tf.size(sentences))
        return joined_sentences(outputs, separators, text_of, count)

    def translate_parts(self, ids, prefix, options):
        """Returns the translations of parts and their scores: `[parts, widest beam]`.

        Args:
            ids, prefix: ragged `[parts, (length)]`.
            options: `[parts]` by name.
        """
        width = self.method.config.beam

        def translate(rows):
            source = padded(tf.gather(ids, rows), self.signatures.longest)
            extras = {name: tf.gather(each, rows) for name, each in options.items()}
            extras["prefix"] = tf.pad(tf.gather(prefix, rows).to_tensor(), [(0, 0), (0, 1)])
            longest = self.signatures.model.longest
            tokens, scores = staged_search(self.method, source, longest, extras)
            tokens = tf.reshape(tokens, (-1, tf.shape(tokens)[2]))
            texts = self.signatures.target.tokenizer.detokenize(tokens)
            return tf.reshape(texts, (-1, width)), scores

        empty = tf.zeros([0, width], tf.string), tf.zeros([0, width])
        return in_batches(translate, ids.row_lengths(), self.signatures.batch_tokens, empty)

    def checks(self, beam, n_best, alpha):
        """Returns the assertions that a search with these options is possible."""
        width = self.method.config.beam
        return [
            check("beam", beam, (beam >= 1) & (beam <= width), f"from 1 to {width}"),
            check(
                "n_best",
                n_best,
                (n_best >= 1) & (n_best <= beam),
                "at least 1 and at most the beam",
            ),
            check("alpha", alpha, (alpha >= 0) & (alpha < float("inf")), "finite and at least 0"),
        ]


def for_each(name, values, count):
    """Returns an option with a value for each of `count` texts."""
    size = tf.size(values)
    received = tf.strings.format("Received: {} values for {} texts", (size, count))
    message = f"`{name}` must have a value for each text, or one for all. "
    fits = tf.debugging.Assert((size == count) | (size == 1), [message + received])
    with tf.control_dependencies([fits]):
        return tf.broadcast_to(values, [count])


def check(name, values, valid, allowed):
    """Returns the assertion that all values of an option are valid."""
    wrong = tf.strings.as_string(
        tf.unique(tf.boolean_mask(values, ~valid))[0], shortest=values.dtype.is_floating
    )
    received = tf.strings.reduce_join(wrong, separator=", ")
    message = f"`{name}` must be {allowed}. Received: " + received
    return tf.debugging.Assert(tf.reduce_all(valid), [message])


def is_first(text_of):
    """Returns for each part whether it is the first one of its text."""
    return tf.concat([[True], text_of[1:] != text_of[:-1]], axis=0)[: tf.size(text_of)]
