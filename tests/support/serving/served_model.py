"""A SavedModel that takes text alone, built from plain operations in a second.

Its signatures are named as those of an exported run. It "translates" by reversing the order of the
words, so that answers are quick to compute and to check. Some words in a text have a special
effect: "slow" takes a while, "refuse" fails an assertion of the model, and "fail" raises an error.
"""

from pathlib import Path

import tensorflow as tf

from pipelines.atomic_files import write_json
from t2t_keras.export.signature_names import NO_SCORE, write_batchable
from t2t_keras.translating.exports import RECORD

LAYERS, HEADS, N_BEST = 2, 3, 4
TEXT = tf.TensorSpec([None], tf.string)
BATCHABLE = ("serving_default", "translate_n_best", "score", "translate_with_options")
# Defaults of split, prefix, beam, n_best and alpha.
OPTIONS = [tf.constant([value]) for value in (True, "", N_BEST, 1, 0.5)]


class Backwards(tf.Module):
    """Reverses the order of words, after a mark that identifies the version."""

    def __init__(self, mark):
        super().__init__()
        self.mark = mark

    @tf.function(input_signature=[TEXT])
    def translate(self, text):
        translations, scores = self.n_best(text)
        return {"translations": translations[:, 0], "scores": scores[:, 0]}

    @tf.function(input_signature=[TEXT])
    def translate_n_best(self, text):
        translations, scores = self.n_best(text)
        return {"translations": translations, "scores": scores}

    @tf.function(input_signature=[TEXT, *(tf.TensorSpec([None], x.dtype) for x in OPTIONS)])
    def translate_with_options(
        self,
        text,
        split=OPTIONS[0],
        prefix=OPTIONS[1],
        beam=OPTIONS[2],
        n_best=OPTIONS[3],
        alpha=OPTIONS[4],
    ):
        """Writes the prefix first; the best one's score is −alpha, and `split` has no effect."""
        refused = tf.debugging.assert_less_equal(beam, N_BEST, f"`beam` must be from 1 to {N_BEST}")
        with tf.control_dependencies([refused]):
            translations, scores = self.n_best(text)
        found = tf.range(N_BEST) < tf.minimum(beam, n_best)[:, None]
        marked = prefix[:, None] + translations
        changed = scores + 0.1 - alpha[:, None] + 0.0 * tf.cast(split, tf.float32)[:, None]
        return {
            "translations": tf.where(found, marked, ""),
            "scores": tf.where(found, changed, NO_SCORE),
        }

    @tf.function(input_signature=[TEXT, TEXT])
    def score(self, source, target):
        lengths = tf.strings.length(source) + tf.strings.length(target)
        return {"log_probabilities": -tf.cast(lengths, tf.float32)}

    @tf.function(input_signature=[TEXT, TEXT])
    def attention(self, text, translation):
        source, target = pieces(text), pieces(translation)
        s, t = source.row_lengths(), target.row_lengths()
        return {
            "source_pieces": source.to_tensor(),
            "target_pieces": target.to_tensor(),
            "encoder": weights(s, s),
            "decoder": weights(t, t),
            "cross": weights(t, s),
        }

    def n_best(self, text):
        text = slowly(text)
        refused = tf.debugging.assert_equal(contains(text, "refuse"), False, "not this word")
        one = tf.strings.to_number(tf.where(contains(text, "fail"), "none", "1"))
        with tf.control_dependencies([refused]):
            words = tf.strings.split(text)[:, ::-1]
        best = tf.strings.reduce_join(words, axis=-1, separator=" ")
        endings = tf.constant(["", "!", "?", " …"][:N_BEST])
        translations = self.mark + " " + best[:, None] + endings
        scores = -0.1 * one[:, None] * tf.range(1, N_BEST + 1, dtype=tf.float32)
        return translations, scores


def contains(text, word):
    return tf.strings.regex_full_match(text, f"(?s).*{word}.*")


def slowly(text):
    """Returns the text, after about half a second of matrix products if it contains "slow"."""
    rounds = tf.where(tf.reduce_any(contains(text, "slow")), 400, 0)

    def product(n, matrix):
        return n + 1, matrix @ matrix

    _, matrix = tf.while_loop(
        lambda n, _: n < rounds, product, (0, 0.9 * tf.eye(400)), parallel_iterations=1
    )
    return text + tf.where(matrix[0, 0] > 2, "never", "")


def pieces(text):
    """Returns the words as pieces, and the end token."""
    words = "▁" + tf.strings.split(text)
    return tf.concat([words, tf.fill([words.nrows(), 1], "</s>")], axis=1)


def weights(rows, columns):
    """Returns weights `[batch, layers, heads, rows, columns]` whose rows sum to 1."""
    i = tf.range(tf.reduce_max(rows))[:, None]
    j = tf.range(tf.reduce_max(columns))[None]
    sharpness = tf.reshape(tf.range(1.0, LAYERS * HEADS + 1), [LAYERS, HEADS, 1, 1])
    visible = tf.sequence_mask(columns, tf.reduce_max(columns))[:, None, None, None]
    return tf.nn.softmax(tf.where(visible, -tf.cast(tf.abs(i - j), tf.float32) * sharpness, -1e9))


def write_version(export, number):
    """Writes a complete version into an export folder. Its translations begin with `vNUMBER:`."""
    model = Backwards(f"v{number}:")
    signatures = {
        "serving_default": model.translate,
        "translate_n_best": model.translate_n_best,
        "translate_with_options": model.translate_with_options,
        "score": model.score,
        "attention": model.attention,
    }
    folder = Path(export) / str(number)
    tf.saved_model.save(model, str(folder), signatures=signatures)
    write_batchable(folder, BATCHABLE)
    write_json(
        folder / RECORD, {"format": "saved_model", "dtype": "float32", "search": {"beam": 1}}
    )
