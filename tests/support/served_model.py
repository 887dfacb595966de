"""A SavedModel with the signatures of an exported run, made of plain operations in a second.

It translates by turning the words' order round, which is as quickly computed as checked. A text
with "slow" takes a while, one with "nan" has no score, one with "refuse" is refused, and one with
"fail" fails.
"""

import os
from pathlib import Path

import tensorflow as tf

LAYERS, HEADS, N_BEST = 2, 3, 4
TEXT = tf.TensorSpec([None], tf.string)


class Backwards(tf.Module):
    """Turns the order of words round.

    Args:
        mark: the word that every translation begins with, to tell versions from each other.
    """

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
            "decoder": weights(t, t, causal=True),
            "cross": weights(t, s),
        }

    def n_best(self, text):
        text = slowly(text)
        refused = tf.debugging.assert_equal(holds(text, "refuse"), False, "this it will not do")
        one = tf.strings.to_number(tf.where(holds(text, "fail"), "none", "1"))
        with tf.control_dependencies([refused]):
            words = tf.strings.split(text)[:, ::-1]
        best = tf.strings.reduce_join(words, axis=-1, separator=" ")
        signs = tf.constant(["", "!", "?", " …"][:N_BEST])
        translations = self.mark + " " + best[:, None] + signs
        scores = -0.1 * one[:, None] * tf.range(1, N_BEST + 1, dtype=tf.float32)
        return translations, tf.where(holds(text, "nan")[:, None], float("nan"), scores)


def holds(text, word):
    return tf.strings.regex_full_match(text, f"(?s).*{word}.*")


def slowly(text):
    """The same text, after half a second or so of products if one has "slow" in it."""
    rounds = tf.where(tf.reduce_any(holds(text, "slow")), 400, 0)

    def product(n, matrix):
        return n + 1, matrix @ matrix

    _, matrix = tf.while_loop(
        lambda n, _: n < rounds, product, (0, 0.9 * tf.eye(400)), parallel_iterations=1
    )
    return text + tf.where(matrix[0, 0] > 2, "never", "")


def pieces(text):
    """Pieces of up to five letters, then the end."""
    words = "▁" + tf.strings.split(text)
    cut = tf.strings.regex_replace(words.flat_values, r"(\S{5})", r"\1 ")
    found = tf.RaggedTensor.from_row_splits(tf.strings.split(cut), words.row_splits)
    found = found.merge_dims(1, 2)
    end = tf.fill([found.nrows(), 1], "</s>")
    return tf.concat([found, end], axis=1)


def weights(rows, columns, causal=False):
    """`[batch, layers, heads, rows, columns]`, of which each row sums to 1."""
    i = tf.range(tf.reduce_max(rows))[:, None]
    j = tf.range(tf.reduce_max(columns))[None]
    near = -tf.abs(tf.cast(i - j, tf.float32))
    sharpness = 0.5 + tf.reshape(tf.range(LAYERS * HEADS, dtype=tf.float32), [LAYERS, HEADS, 1, 1])
    seen = tf.sequence_mask(columns, tf.reduce_max(columns))[:, None, None, None]
    if causal:
        seen &= j <= i
    scores = tf.where(seen, near * sharpness, -1e9)
    return tf.nn.softmax(scores)


def write_version(export, number, mark=None, signatures=None):
    """Writes a version into an export folder, whole or not at all; each begins with its mark."""
    model = Backwards(mark or f"v{number}:")
    offered = {
        "serving_default": model.translate,
        "translate_n_best": model.translate_n_best,
        "score": model.score,
        "attention": model.attention,
    }
    unfinished = Path(export) / f".{number}"
    offered = {name: offered[name] for name in signatures or offered}
    tf.saved_model.save(model, str(unfinished), signatures=offered)
    os.rename(unfinished, Path(export) / str(number))
