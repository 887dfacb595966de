"""The search as TensorFlow graphs."""

import functools
import sys
import time

import numpy as np
import tensorflow as tf

from t2t_keras.decoding.compiled_shapes import SMALL, CompiledShapes, Shape, fill, stages_of
from t2t_keras.decoding.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.hypotheses import Hypotheses
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import advance, method_of
from t2t_keras.decoding.tree_vocabulary import ONLY_TREES
from t2t_keras.export.compiled_stages import compiled_stages
from t2t_keras.export.small_batch_search import small_batch_search
from t2t_keras.export.staged_search import staged_search
from t2t_keras.training.replica_step import choose_xla
from t2t_keras.translating.required_phrases import PhraseEncoder
from t2t_keras.translating.translator import Translator

IDS = tf.TensorSpec([None, None], tf.int32)


def translator(model, tokenizer, config, trees=None):
    """Returns a `Translator` that searches in TensorFlow graphs.

    Args:
        model: a `Transformer` or an `Ensemble`.
        tokenizer: the vocabulary's tokenizer.
        config: a `SearchConfig`.
        trees: see `method_of`.
    """
    phrases = PhraseEncoder(tokenizer.target, config, model.longest)
    decode = PhraseSearch(graph_search(model, config, trees=trees), model, tokenizer, config)
    return Translator(tokenizer, decode, longest=model.longest, phrases=phrases)


class PhraseSearch:
    """A search that uses constrained beam search for batches with phrases.

    Args:
        ordinary: the search for other batches, a function as returned by `graph_search`.
        model, tokenizer, config: see `translator`.
    """

    def __init__(self, ordinary, model, tokenizer, config):
        self.ordinary, self.model = ordinary, model
        self.tokenizer, self.config = tokenizer, config

    def __call__(self, source, indices, prefix=None, phrases=None):
        if self.config.constrain and (prefix is not None or phrases is not None):
            raise ValueError(ONLY_TREES)
        if phrases is None:
            return self.ordinary(source, indices, prefix)
        return self.constrained(source, indices, prefix, phrases)

    @functools.cached_property
    def constrained(self):
        follows = self.tokenizer.target.ends_phrase()
        method = ConstrainedBeamSearch(self.model, self.config, follows)
        return staged_graph(self.model, self.config, method)


def graph_search(model, config, pays_after=None, trees=None):
    """Returns a function from source ids, text indices and prefix ids to `Hypotheses`.

    Args:
        model: a `Transformer` or an `Ensemble`.
        config: a `SearchConfig`.
        pays_after: see `CompiledShapes`.
        trees: see `method_of`.
    """
    if choose_xla("auto"):
        return compiled_search(model, config, trees)
    if config.method == "sample":
        return staged_graph(model, config, method_of(model, config, trees))
    return CpuSearch(model, config, pays_after, trees)


class CpuSearch:
    """The search in stages, compiled by XLA for small batches of frequent shapes.

    Args:
        model: a `Transformer` or an `Ensemble`.
        config: a `SearchConfig` that does not sample.
        pays_after: see `CompiledShapes`.
        trees: see `method_of`.
    """

    def __init__(self, model, config, pays_after=None, trees=None):
        method = method_of(model, config, trees)
        self.staged = staged_graph(model, config, method)
        self.small = small_batch_search(method, model.longest)
        self.compiled_stages = tf.function(
            compiled_stages(method, model.longest),
            input_signature=[IDS, tf.TensorSpec([None], tf.int32)],
            autograph=False,
        )
        self.shapes = CompiledShapes(self.compile, model.longest, pays_after)
        self.warm = False

    def __call__(self, source, indices, prefix=None):
        shape = None if prefix is not None else self.shapes.shape_for(*source.shape)
        if shape in self.shapes.ready and shape.rows not in SMALL:
            return self.in_compiled_stages(source, shape)
        if shape in self.shapes.ready:
            longest = max(each for each in self.shapes.ready if each.rows == shape.rows)
            for room in sorted({shape, longest}):
                if (hypotheses := self.by_one_program(source, room)) is not None:
                    return hypotheses
        started = time.perf_counter()
        hypotheses = self.staged(source, indices, prefix)
        if shape is not None and self.warm:  # the first call traces the graph
            self.shapes.add_seconds(shape, time.perf_counter() - started)
        self.warm = True
        return hypotheses

    def by_one_program(self, source, shape):
        """Returns the `Hypotheses`, or None if the program has no room for a sentence's output."""
        *hypotheses, finished = self.small(fill(source, shape))
        return Hypotheses(*(part[: len(source)] for part in hypotheses)) if finished else None

    def in_compiled_stages(self, source, shape):
        source = fill(source, Shape(len(source), shape.length))
        return self.compiled_stages(source, stages_of(shape.rows))

    def compile(self, shape):
        if shape.rows in SMALL:
            self.small(np.ones(shape, "int32"))
        else:  # the first stage has the smallest shape that it may have
            self.compiled_stages(np.ones([0, shape.length], "int32"), [shape.rows])


def compiled_search(model, config, trees=None):
    """Returns the search as one program, which XLA compiles for each batch shape."""
    method = method_of(model, config, trees)

    def search(source, extras):
        longest = tf.shape(source)[1] + config.extra_length
        longest = tf.minimum(longest, model.longest or longest)
        state = method.start(source, longest, longest, extras)
        return method.hypotheses(advance(method, state, longest))

    return of_arrays(search, model, config, jit_compile=True)


def staged_graph(model, config, method=None):
    """Returns the search in stages, with one graph for all batch shapes.

    Args:
        model, config: see `translator`.
        method: the search method. None: the one that `config` selects.
    """
    method = method_of(model, config) if method is None else method

    def search(source, extras):
        return staged_search(method, source, model.longest, extras)

    return of_arrays(search, model, config)


def of_arrays(search, model, config, **options):
    """Returns a function from source ids, text indices, prefix ids and phrases to `Hypotheses`.

    Args:
        search: function from source ids and extra inputs, as tensors of any shape.
        model, config: of the search.
        **options: of the `tf.function`.
    """
    specs = {"prefix": IDS, "draws": tf.TensorSpec([None, config.n_best, None], tf.float32)}
    specs["phrases"] = tf.TensorSpec([None, None, None], tf.int32)

    @functools.cache
    def graph(*extras):
        signature = [IDS, {name: specs[name] for name in extras}]
        return tf.function(search, input_signature=signature, autograph=False, **options)

    def on_arrays(source, indices, prefix=None, phrases=None):
        extras = extras_of(model, source, indices, prefix, config)
        if phrases is not None:
            extras["phrases"] = tf.constant(phrases, tf.int32)
        return graph(*extras)(source, extras)

    return on_arrays


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
