"""The search as TensorFlow graphs."""

import functools
import sys

import tensorflow as tf

from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import advance, method_of
from t2t_keras.decoding.translator import Translator
from t2t_keras.export.staged_search import staged_search
from t2t_keras.training.replica_step import choose_xla


def translator(model, tokenizer, config):
    """Returns a `Translator` that searches in TensorFlow graphs.

    Args:
        model: a `Transformer` or an `Ensemble`.
        tokenizer: the vocabulary's tokenizer.
        config: a `SearchConfig`.
    """
    return Translator(tokenizer, graph_search(model, config), longest=model.longest)


def graph_search(model, config):
    """Returns a function from source ids, text indices and prefix ids to `Hypotheses`."""
    return (compiled_search if choose_xla("auto") else staged_graph)(model, config)


def compiled_search(model, config):
    """Returns the search compiled by XLA, with one graph for each batch shape."""
    method = method_of(model, config)

    @tf.function(jit_compile=True, autograph=False)
    def decode(source, extras):
        longest = longest_output(model, source, config)
        state = method.start(source, longest, longest, extras)
        return method.hypotheses(advance(method, state, longest))

    def search(source, indices, prefix=None):
        return decode(tf.constant(source), extras_of(model, source, indices, prefix, config))

    return search


def staged_graph(model, config):
    """Returns the search in stages, with one graph for all batch shapes."""
    method = method_of(model, config)
    ids = tf.TensorSpec([None, None], tf.int32)
    specs = {"prefix": ids, "draws": tf.TensorSpec([None, config.n_best, None], tf.float32)}

    @functools.cache
    def decode(*extras):
        return tf.function(
            lambda source, extras: staged_search(method, source, model.longest, extras),
            input_signature=[ids, {name: specs[name] for name in extras}],
            autograph=False,
        )

    def search(source, indices, prefix=None):
        extras = extras_of(model, source, indices, prefix, config)
        return decode(*extras)(source, extras)

    return search


def extras_of(model, source, indices, prefix, config):
    """Returns the optional inputs of a search: prefixes, and random draws for sampling."""
    extras = {}
    if prefix is not None:
        extras["prefix"] = tf.constant(prefix, tf.int32)
    if config.method == "sample":
        draws = draws_of(indices, longest_output(model, source, config), config)
        extras["draws"] = tf.constant(draws)
    return extras


def longest_output(model, source, config):
    """Returns the maximum output length for a batch, in tokens."""
    return min(source.shape[1] + config.extra_length, model.longest or sys.maxsize)
