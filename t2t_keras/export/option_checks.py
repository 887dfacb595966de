"""Checks each text's options inside the graph, because TensorFlow Serving does not check them."""

import tensorflow as tf

from t2t_keras.decoding.search_config import MOST


def option_checks(config, prefix, beam, n_best, **others):
    """Returns assertions that a search with these options is possible.

    Args:
        config: the `SearchConfig` of the export.
        prefix, beam, n_best: tensors with one value per text.
        **others: the values of further options, which must be at least 0.
    """
    widest, at_most = config.beam, "at least 1 and at most the beam"
    checks = [
        check("beam", beam, (beam >= 1) & (beam <= widest), f"from 1 to {widest}"),
        check("n_best", n_best, (n_best >= 1) & (n_best <= beam), at_most),
    ]
    for name, each in others.items():
        valid = (each >= 0) & (each <= MOST[name])
        checks.append(check(name, each, valid, f"from 0 to {MOST[name]:g}"))
    if config.constrain:
        allowed = "empty: the outputs of this SavedModel are trees"
        checks.append(check("prefix", prefix, prefix == "", allowed))
    return checks


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
    """Returns whether each part is the first part of its text."""
    return tf.concat([[True], text_of[1:] != text_of[:-1]], axis=0)[: tf.size(text_of)]


def only_where(chosen, ragged):
    """Returns a ragged tensor whose rows are empty except the chosen ones."""
    kept = tf.repeat(chosen, ragged.row_lengths())
    return tf.ragged.boolean_mask(ragged, tf.RaggedTensor.from_row_splits(kept, ragged.row_splits))
