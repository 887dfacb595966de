"""What commands that translate have in common: the compiled search, lines in and out."""

import functools
import sys
from pathlib import Path

import tensorflow as tf

from pipelines.progress import Progress
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import advanced, method_of
from t2t_keras.decoding.translator import Translator
from t2t_keras.export.staged_search import staged_search
from t2t_keras.training.replica_step import choose_xla


def translator(model, tokenizer, config):
    """A `Translator` that searches in TensorFlow graphs."""
    return Translator(tokenizer, decoder(model, config), longest=model.longest)


def decoder(model, config):
    """The search in TensorFlow graphs: a function of ids, the lines' numbers, and a prefix."""
    return (compiled_search if choose_xla("auto") else graph_search)(model, config)


def compiled_search(model, config):
    """The search as one graph for each shape of batches, compiled by XLA."""

    method = method_of(model, config)

    @tf.function(jit_compile=True, autograph=False)
    def decode(source, extras):
        longest = longest_of(model, source, config)
        state = method.start(source, longest, longest, extras)
        return method.hypotheses(advanced(method, state, longest))

    def search(source, numbers, prefix=None):
        return decode(tf.constant(source), extras_of(model, source, numbers, prefix, config))

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

    def search(source, numbers, prefix=None):
        extras = extras_of(model, source, numbers, prefix, config)
        return decode(*extras)(source, extras)

    return search


def extras_of(model, source, numbers, prefix, config):
    """What a search is told beside the source."""
    extras = {}
    if prefix is not None:
        extras["prefix"] = tf.constant(prefix, tf.int32)
    if config.method == "sample":
        draws = draws_of(numbers, longest_of(model, source, config), config)
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


def text_of(line):
    """A line as text: bytes that are no UTF-8 become U+FFFD, its end goes."""
    return line.decode("utf-8", "replace").rstrip("\r\n")


def read_lines(path):
    """The lines of a file, of which only a line feed ends one."""
    lines = Path(path).read_bytes().split(b"\n")
    return [text_of(line) for line in (lines if lines[-1] else lines[:-1])]


def on_one_line(text):
    """A text without line breaks, which a model may write byte by byte."""
    return text.replace("\r", " ").replace("\n", " ")
