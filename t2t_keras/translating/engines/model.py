"""The engine of a Keras model: its search, probabilities and attention as TensorFlow graphs."""

import functools
import hashlib
import sys

import numpy as np
import tensorflow as tf

from t2t_keras.decoding.alignment import attention_between
from t2t_keras.decoding.constraints import IMPOSSIBLE
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.rows import BEGIN
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.decoding.search import advance, method_of, needs_draws
from t2t_keras.export.search_in_stages import search_in_stages
from t2t_keras.training.hardware.devices import choose_xla, prepare_devices
from t2t_keras.translating.engines.engine import Engine

IDS = tf.TensorSpec([None, None], tf.int32)
SEARCHES = 4  # maximum number of searches with changed settings whose graphs are kept


class ModelEngine(Engine):
    """Searches with a model in TensorFlow graphs.

    Args:
        model: a `SequenceModel` or an `Ensemble`.
        tokenizer: the vocabulary's tokenizer, without a tag.
        config: a `SearchConfig`.
        trees: function that takes a `SearchConfig` and returns the `TreeConstraint`, or None.
        alignment: the `AlignmentHead` that aligns words. None: the default.
        **attributes: further attributes of `Engine`.
    """

    def __init__(
        self, model, tokenizer, config, trees=lambda config: None, alignment=None, **attributes
    ):
        prepare_devices()
        self.model, self.tokenizer, self.config = model, tokenizer, config
        self.longest, self.trees, self.alignment = model.longest, trees, alignment
        vars(self).update(attributes)
        self.others = {}  # {settings: engine with these settings}, shared by the engines
        first, pair = first_model(model), {"input_signature": [IDS, IDS], "autograph": False}
        self.log_p_graph = tf.function(
            lambda *ids: log_probabilities(model, *ids),
            jit_compile=choose_xla("auto") or None,
            **pair,
        )
        self.attention_graph = tf.function(
            lambda *ids: attention_between(first, *ids, alignment), **pair
        )

    def with_search(self, config):
        key = repr(config)
        if key not in self.others:
            while len(self.others) >= SEARCHES:
                del self.others[next(iter(self.others))]
            self.others[key] = other = super().with_search(config)
            for name in ("ordinary", "for_phrases"):
                vars(other).pop(name, None)
        self.others[key] = self.others.pop(key)  # the newest is last
        return self.others[key]

    def digest(self):
        models = getattr(self.model, "models", [self.model])
        return {"weights": [weights_digest(model) for model in models]}

    @functools.cached_property
    def ordinary(self):
        method = method_of(self.model, self.config, self.trees(self.config))
        return graph_search(self.model, self.config, method, choose_xla("auto"))

    @functools.cached_property
    def for_phrases(self):
        follows = self.tokenizer.target.ends_phrase()
        method = ConstrainedBeamSearch(self.model, self.config, follows)
        return graph_search(self.model, self.config, method)

    @functools.cached_property
    def reading(self):
        return GraphReader(self.model) if getattr(self.model, "steps_at_once", False) else None

    @property
    def size(self):
        return self.model.count_params()

    def search(self, rows):
        if self.proposes(rows):
            return self.drafted(rows)
        return (self.ordinary if rows.phrases is None else self.for_phrases)(rows)

    def log_p(self, source, target):
        try:
            return self.log_p_graph(source, target).numpy()
        except tf.errors.ResourceExhaustedError as error:
            longest = max(source.shape[1], target.shape[1])
            raise ValueError(
                f"there is not enough memory for a pair of about {longest:,} pieces: leave it out"
            ) from error

    @property
    def has_attention(self):
        return bool(first_model(self.model).config.attention_layers[2])

    def attention(self, source, target):
        return self.attention_graph(source, target).numpy()


class GraphReader:
    """Reads tokens with a `Transformer`, for `drafted_search`."""

    def __init__(self, model):
        self.start = tf.function(
            lambda source, room: model.start_decoding(source, room),
            input_signature=[IDS, tf.TensorSpec([], tf.int32)],
            autograph=False,
        )

        @functools.cache
        def graph(length):
            return tf.function(likeliest, autograph=False, reduce_retracing=True)

        def likeliest(tokens, position, cache, memory):
            logits, cache = model.decode_step(tokens, position, cache, memory)
            allowed = tf.range(logits.shape[-1]) > BEGIN
            values, ids = tf.math.top_k(tf.where(allowed, logits, IMPOSSIBLE), 1)
            return values[:, 0] - tf.reduce_logsumexp(logits, axis=1), ids[:, 0], cache

        self.graph = graph

    def reader(self, source, room, steps):
        """Returns a function for `drafted_search` that reads up to `steps` tokens at once."""
        memory, cache = self.start(source, room)

        def read(tokens, position):
            nonlocal cache
            given = tf.constant([tokens]), tf.constant(position)
            log_p, ids, cache = self.graph(len(tokens))(*given, cache, memory)
            return log_p.numpy(), ids.numpy()

        return read


def weights_digest(model):
    """Returns a digest of a model's weights. Files with equal weights may differ."""
    digest = hashlib.blake2b(digest_size=16)
    for weight in model.weights:
        array = weight.numpy()
        digest.update(repr((array.dtype.name, array.shape)).encode())
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def graph_search(model, config, method, xla=False):
    """Returns a function that takes `Rows` and returns `Hypotheses`, computed in a graph.

    With `xla`, XLA compiles the search as one program for each batch shape. Otherwise, it runs in
    stages, with one graph for all batch shapes.
    """
    specs = {"prefix": IDS, "phrases": tf.TensorSpec([None, None, None], tf.int32)}

    @functools.cache
    def graph(*extras, draws=None):
        signature = [IDS, {name: specs[name] for name in extras}]
        if draws is not None:
            signature[1]["draws"] = tf.TensorSpec([None, draws, None], tf.float32)
        options = {"autograph": False, "jit_compile": True if xla else None}
        # Called as a concrete function, so that TensorFlow does not warn of retracing when the
        # models of several runs are loaded one after another.
        return tf.function(found, input_signature=signature, **options).get_concrete_function()

    def found(source, extras):
        if not xla:
            return search_in_stages(method, source, model.longest, extras)
        return whole_search(model, config, method, source, extras)

    def search(rows):
        extras = {name: tf.constant(ids, tf.int32) for name, ids in rows.extras().items()}
        if needs_draws(config):
            longest = min(rows.source.shape[1] + config.extra_length, model.longest or sys.maxsize)
            draws = tf.constant(draws_of(rows.index, longest, config))
            return graph(*extras, draws=draws.shape[1])(rows.source, extras | {"draws": draws})
        return graph(*extras)(rows.source, extras)

    return search


def whole_search(model, config, method, source, extras):
    """Searches in one loop, for XLA; see `graph_search`."""
    longest = tf.shape(source)[1] + config.extra_length
    longest = tf.minimum(longest, model.longest or longest)
    state = method.start(source, longest, longest, extras)
    return method.hypotheses(advance(method, state, longest))


def first_model(model):
    """Returns the model, or the first model of an ensemble."""
    return getattr(model, "models", [model])[0]
