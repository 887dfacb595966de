"""The search as TensorFlow graphs."""

import functools
import sys

import tensorflow as tf

from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import advance, method_of, needs_draws
from t2t_keras.export.search_in_stages import search_in_stages
from t2t_keras.training.hardware.devices import choose_xla

IDS = tf.TensorSpec([None, None], tf.int32)


def graph_search(model, config, trees=None):
    """Returns a function that takes `Rows` without phrases and returns `Hypotheses`.

    Args:
        model: a `Transformer` or an `Ensemble`.
        config: a `SearchConfig`.
        trees: see `method_of`.
    """
    if choose_xla("auto"):
        return compiled_search(model, config, trees)
    return staged_graph(model, config, method_of(model, config, trees))


def compiled_search(model, config, trees=None):
    """Returns the search as one program, which XLA compiles for each batch shape."""
    method = method_of(model, config, trees)

    def search(source, extras):
        longest = tf.shape(source)[1] + config.extra_length
        longest = tf.minimum(longest, model.longest or longest)
        state = method.start(source, longest, longest, extras)
        return method.hypotheses(advance(method, state, longest))

    return of_rows(search, model, config, jit_compile=True)


def staged_graph(model, config, method):
    """Returns the search in stages, with one graph for all batch shapes.

    Args:
        model, config: see `graph_search`.
        method: the search method.
    """

    def search(source, extras):
        return search_in_stages(method, source, model.longest, extras)

    return of_rows(search, model, config)


def of_rows(search, model, config, **options):
    """Returns a function that takes `Rows` and returns `Hypotheses`.

    Args:
        search: function of source ids and extra inputs, which are tensors of any shape.
        model, config: the model and the `SearchConfig` of the search.
        **options: options of the `tf.function`.
    """
    specs = {"prefix": IDS, "phrases": tf.TensorSpec([None, None, None], tf.int32)}

    @functools.cache
    def graph(*extras, draws=None):
        signature = [IDS, {name: specs[name] for name in extras}]
        if draws is not None:
            signature[1]["draws"] = tf.TensorSpec([None, draws, None], tf.float32)
        return tf.function(search, input_signature=signature, autograph=False, **options)

    def of_rows(rows):
        extras = {
            name: tf.constant(getattr(rows, name), tf.int32)
            for name in ("prefix", "phrases")
            if getattr(rows, name) is not None
        }
        if needs_draws(config):
            longest = min(rows.source.shape[1] + config.extra_length, model.longest or sys.maxsize)
            draws = tf.constant(draws_of(rows.index, longest, config))
            return graph(*extras, draws=draws.shape[1])(rows.source, extras | {"draws": draws})
        return graph(*extras)(rows.source, extras)

    return of_rows
