"""The signature of a SavedModel in which each text has its own options.

It is the graph version of `Run.translate(texts, split=…, beam=…, n_best=…, alpha=…, require=…)` and
of the prefixes of a `Translator`. It checks the options, because TensorFlow Serving does not.
"""

import tensorflow as tf

from t2t_keras.decoding.beam_search_with_options import (
    BeamSearchWithOptions,
    ConstrainedBeamSearchWithOptions,
)
from t2t_keras.export.required_phrases import PhraseIds
from t2t_keras.export.sentence_joints import joined_sentences, sentences_of, with_codes
from t2t_keras.export.staged_search import staged_search
from t2t_keras.export.text_parts import in_batches, joined, padded

TYPES = {
    "text": tf.string,
    "split": tf.bool,
    "prefix": tf.string,
    "require": tf.string,
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
    search = {"beam": config.beam, "n_best": 1, "alpha": config.alpha}
    values = {"split": split, "prefix": "", "require": "", **search}
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
        model, config, target = signatures.model, signatures.method.config, signatures.target
        self.method = BeamSearchWithOptions(model, config, signatures.method.trees)
        self.constrained = ConstrainedBeamSearchWithOptions(model, config, target.ends_phrase)
        self.phrase_ids = PhraseIds(target, config.banned, model.longest)

    def __call__(self, text, split, prefix, require, beam, n_best, alpha):
        """Returns `translations` and `scores` [batch, widest beam] of `text` [batch].

        Args:
            text: the texts.
            split, prefix, require, beam, n_best, alpha: a value for each text, or one for all. A
                text with required phrases is not split.
        """
        count = tf.shape(text)[0]
        options = {"beam": beam, "n_best": n_best, "alpha": alpha}
        for_texts = {"split": split, "prefix": prefix, "require": require, **options}
        for_texts = {name: for_each(name, value, count) for name, value in for_texts.items()}
        split, prefix, require = (for_texts.pop(name) for name in ("split", "prefix", "require"))
        checks = self.checks(**for_texts) + self.tree_checks(prefix, require)
        with tf.control_dependencies(checks):
            prefix, phrases = self.encoded(tf.identity(prefix), require)
        has_phrases = phrases.row_lengths() > 0
        with tf.control_dependencies([self.width_check(for_texts["beam"], has_phrases)]):
            text = tf.identity(text)
        sentences, separators, text_of = sentences_of(
            text, split & ~has_phrases, self.split_sentences
        )
        if self.signatures.source.has_lead:
            codes = self.signatures.source.tokenizer.codes_before(sentences)
            sentences = with_codes(sentences, codes, text_of)
        ids, sentence_of = self.signatures.parts(sentences)
        text_of_part = tf.gather(text_of, sentence_of)
        of_parts = {name: tf.gather(each, text_of_part) for name, each in for_texts.items()}
        # Only the first part of a text begins with its prefix and has its phrases.
        is_first = first_of_each(text_of_part)
        of_parts |= {
            name: only_where(is_first, tf.gather(each, text_of_part))
            for name, each in (("prefix", prefix), ("phrases", phrases))
        }
        texts, scores = self.translate_parts(ids, of_parts)
        outputs = joined(texts, scores, sentence_of, tf.size(sentences))
        return joined_sentences(outputs, separators, text_of, count)

    def encoded(self, prefix, require):
        """Returns the ragged ids of prefixes `[batch, (ids)]` and phrases, with ids in axis 2."""
        prefix = self.signatures.target.tokenizer.tokenize(prefix).with_row_splits_dtype(tf.int64)
        phrases = self.phrase_ids(require)
        with tf.control_dependencies([self.phrase_ids.length_check(phrases, prefix)]):
            return prefix.with_flat_values(tf.identity(prefix.flat_values)), phrases

    def translate_parts(self, ids, options):
        """Returns the translations of parts and their scores: `[parts, widest beam]`.

        Parts with phrases are searched apart.

        Args:
            ids: ragged `[parts, (length)]`.
            options: `[parts]` by name; "prefix" and "phrases" are ragged.
        """
        has_phrases = options["phrases"].row_lengths() > 0
        ordinary = {name: each for name, each in options.items() if name != "phrases"}
        groups = (~has_phrases, self.method, ordinary), (has_phrases, self.constrained, options)
        rows, results = [], []
        for chosen, method, of_group in groups:
            rows.append(tf.where(chosen)[:, 0])
            inputs = tf.gather(ids, rows[-1]), gathered(of_group, rows[-1])
            results.append(self.search(method, *inputs))
        place = tf.argsort(tf.concat(rows, axis=0))
        return [tf.gather(tf.concat(both, axis=0), place) for both in zip(*results, strict=True)]

    def search(self, method, ids, options):
        """Does the same with a search method."""
        width = self.method.config.beam

        def translate(rows):
            source = padded(tf.gather(ids, rows), self.signatures.longest)
            extras = gathered(options, rows)
            extras["prefix"] = tf.pad(extras["prefix"].to_tensor(), [(0, 0), (0, 1)])
            if "phrases" in extras:
                extras["phrases"] = extras["phrases"].to_tensor()
            longest = self.signatures.model.longest
            tokens, scores = staged_search(method, source, longest, extras)
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

    def tree_checks(self, prefix, require):
        """Returns the assertions that no output has to be a tree and something else as well."""
        if self.method.trees is None:
            return []
        allowed = "empty: the outputs of this SavedModel are trees"
        return [
            check(name, each, each == "", allowed)
            for name, each in (("prefix", prefix), ("require", require))
        ]

    def width_check(self, beam, has_phrases):
        """Returns the assertion that texts with phrases have the widest beam."""
        width = self.method.config.beam
        allowed = f"{width} for a text with `require`"
        return check("beam", beam, ~has_phrases | (beam == width), allowed)


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


def first_of_each(text_of):
    """Returns for each part whether it is the first one of its text."""
    return tf.concat([[True], text_of[1:] != text_of[:-1]], axis=0)[: tf.size(text_of)]


def only_where(chosen, ragged):
    """Returns a ragged tensor whose rows are empty except the chosen ones."""
    kept = tf.repeat(chosen, ragged.row_lengths())
    return tf.ragged.boolean_mask(ragged, tf.RaggedTensor.from_row_splits(kept, ragged.row_splits))


def gathered(options, rows):
    """Returns the rows of options, by name."""
    return {name: tf.gather(each, rows) for name, each in options.items()}
