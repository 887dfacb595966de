"""What commands that translate have in common: the compiled search, lines in and out."""

import functools
from pathlib import Path

import tensorflow as tf

from pipelines.progress import Progress
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


def best_translations(target, texts, config, weights=None, task="translating"):
    """The best translation of each text, a line each, by a run with some of its weights."""
    translate = translator(target.model(weights), target.tokenizer(), config).translate
    with Progress(task, len(texts), unit="lines") as progress:
        progress.to(0)
        return [on_one_line(best[0][0]) for best in translate(texts, progress.to)]


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
