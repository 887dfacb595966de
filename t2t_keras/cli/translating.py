"""What commands that translate have in common: which weights, how the search is compiled."""

import functools

import tensorflow as tf

from t2t_keras.decoding.search import search
from t2t_keras.decoding.translator import Translator
from t2t_keras.training.replica_step import choose_xla


def translator(model, tokenizer, config):
    """A `Translator` that searches in TensorFlow graphs, one for each width of batches."""
    xla = choose_xla("auto")

    @functools.cache
    def of_width(width):
        graph = tf.function(
            lambda source: search(model, source, width + config.extra_length, config),
            input_signature=[tf.TensorSpec([None, width], tf.int32)],
            jit_compile=xla or None,
            autograph=False,
        )
        return graph.get_concrete_function()

    def decode(source):
        return of_width(source.shape[1])(tf.constant(source))

    return Translator(tokenizer, decode)
