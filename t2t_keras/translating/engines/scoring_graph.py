"""Scores existing translations in a TensorFlow graph."""

import tensorflow as tf

from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.training.replica_step import choose_xla
from t2t_keras.translating.scoring import Scorer


def scorer(model, tokenizer):
    """Returns a `Scorer` that uses one TensorFlow graph for all batch shapes."""
    ids = tf.TensorSpec([None, None], tf.int32)
    xla = choose_xla("auto") or None

    @tf.function(input_signature=[ids, ids], autograph=False, jit_compile=xla)
    def compiled(source, target):
        return log_probabilities(model, source, target)

    def within_memory(source, target):
        try:
            return compiled(source, target)
        except tf.errors.ResourceExhaustedError as error:
            longest = max(source.shape[1], target.shape[1])
            raise ValueError(
                f"there is not enough memory for a pair of about {longest:,} pieces: leave it out"
            ) from error

    return Scorer(tokenizer, within_memory, longest=model.longest)
