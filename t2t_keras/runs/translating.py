"""The search as TensorFlow graphs."""

import functools
import sys

import tensorflow as tf

from pipelines.progress import Progress
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import advance, method_of
from t2t_keras.decoding.translator import Translator
from t2t_keras.export.staged_search import staged_search
from t2t_keras.runs.lines import on_one_line
from t2t_keras.training.replica_step import choose_xla


def translator(model, tokenizer, config):
    """A `Translator` that searches in TensorFlow graphs."""
    return Translator(tokenizer, decoder(model, config), longest=model.longest)


def decoder(model, config):
    """The search in TensorFlow graphs: a function of ids, the texts' indices, and a prefix."""
    return (compiled_search if choose_xla("auto") else graph_search)(model, config)


def compiled_search(model, config):
    """The search as one graph for each shape of batches, compiled by XLA."""

    method = method_of(model, config)

    @tf.function(jit_compile=True, autograph=False)
    def decode(source, extras):
        longest = longest_of(model, source, config)
        state = method.start(source, longest, longest, extras)
        return method.hypotheses(advance(method, state, longest))

    def search(source, indices, prefix=None):
        return decode(tf.constant(source), extras_of(model, source, indices, prefix, config))

    return search


def graph_search(model, config):
    """The search in stages, as one graph for all shapes of batches."""
    method = method_of(model, config)
    ids = tf.TensorSpec([None, None], tf.int32)
    kinds = {"prefix": ids, "draws": tf.TensorSpec([None, config.n_best, None], tf.float32)}

    @functools.cache
    def decode(*extras):
        return tf.function(
            lambda source, extras: staged_search(method, source, model.longest, extras),
            input_signature=[ids, {name: kinds[name] for name in extras}],
            autograph=False,
        )

    def search(source, indices, prefix=None):
        extras = extras_of(model, source, indices, prefix, config)
        return decode(*extras)(source, extras)

    return search


def extras_of(model, source, indices, prefix, config):
    """What a search is told beside the source."""
    extras = {}
    if prefix is not None:
        extras["prefix"] = tf.constant(prefix, tf.int32)
    if config.method == "sample":
        draws = draws_of(indices, longest_of(model, source, config), config)
        extras["draws"] = tf.constant(draws)
    return extras


def longest_of(model, source, config):
    """The longest output of a batch."""
    return min(source.shape[1] + config.extra_length, model.longest or sys.maxsize)


def best_translations(target, texts, config, weights=None, task="translating"):
    """The best translation of each text, a line each, by a run or several together."""
    translate = translator(target.model(weights), target.tokenizer(), config).translate
    with Progress(task, len(texts), unit="lines") as progress:
        progress.to(0)
        return [on_one_line(best[0].text) for best in translate(texts, progress.to)]
