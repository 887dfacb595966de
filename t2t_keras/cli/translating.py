"""What commands that translate have in common: the compiled search, lines in and out."""

from pathlib import Path

import tensorflow as tf

from pipelines.progress import Progress
from t2t_keras.decoding.search import STAGE, StagedSearch, advanced, method_of, search
from t2t_keras.decoding.translator import Translator
from t2t_keras.training.replica_step import choose_xla


def translator(model, tokenizer, config):
    """A `Translator` that searches in TensorFlow graphs."""
    xla = choose_xla("auto")
    return Translator(tokenizer, (compiled_search if xla else staged)(model, config))


def compiled_search(model, config):
    """The search as one graph for each shape of batches, compiled by XLA."""

    @tf.function(jit_compile=True, autograph=False)
    def decode(source):
        return search(model, source, source.shape[1] + config.extra_length, config)

    return lambda source: decode(tf.constant(source))


def staged(model, config):
    """The search in stages: two graphs, for all shapes."""
    method = method_of(model, config)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)], autograph=False)
    def start(source):
        return method.start(source, STAGE)

    state = start.get_concrete_function().structured_outputs
    signature = [tf.nest.map_structure(any_length, state), tf.TensorSpec([], tf.int32)]

    @tf.function(input_signature=signature, autograph=False)
    def advance(state, until):
        return advanced(method, state, until)

    return StagedSearch(method, start, advance)


def any_length(tensor):
    """Of whatever has more than two axes, the third is that of the tokens."""
    shape = tensor.shape.as_list()
    if len(shape) > 2:
        shape[2] = None
    return tf.TensorSpec(shape, tensor.dtype)


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
