"""The programs of a LiteRT model: encoder, search step, scoring and attention.

Only the step of a search is a program; `decoding/numpy_search.py` is the loop around it.

LiteRT plans a program for the shapes of its inputs. So an array that a program reshapes may have at
most one axis of unknown size, which is passed to `reshape` as −1.
"""

from typing import NamedTuple

import keras
import tensorflow as tf
from keras import ops

from t2t_keras.decoding.alignment import all_attention
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.decoding.search import advance, method_of
from t2t_keras.decoding.top_tokens import group_size
from t2t_keras.decoding_cache import KeptCache, KeysValues
from t2t_keras.export.formats import STEPS
from t2t_keras.layers.masks import Bias
from t2t_keras.transformer import DecodingMemory

SPARE = 2  # additional candidates, because padding and begin tokens may be among the best


class Program(NamedTuple):
    """A function from arrays, given as keyword arguments, to {name: array}."""

    function: object
    inputs: dict  # {name: `tf.TensorSpec`}


def programs_of(model, beam):
    """Returns {name: `Program`} of a `SequenceModel`, with steps for 1 and `beam`."""
    ids = tf.TensorSpec([1, None], tf.int32)
    found = {"encode": Program(lambda source: encoded(model, source), {"source": ids})}
    for width in sorted({1, beam}):
        found[f"step_{width}"] = step_program(model, width)
    if getattr(model, "steps_at_once", False):
        found["steps"] = step_program(model, 1, STEPS)
    pair = {"source": ids, "target": ids}
    found["log_p"] = Program(lambda **ids: {"log_p": log_probabilities(model, **ids)}, pair)
    if any(model.config.attention_layers):
        found["attention"] = Program(lambda **ids: all_attention(model, **ids), pair)
    return found


def portable_program(model, config):
    """Returns the `Program` of a whole search, for programs without NumPy and this package."""
    method, longest = method_of(model, config), model.longest

    def search(source):
        room = tf.shape(source)[1] + config.extra_length
        room = room if longest is None else tf.minimum(room, longest)
        state = advance(method, method.start(source, room, room), room)
        return method.hypotheses(state)._asdict()

    return Program(search, {"source": tf.TensorSpec([None, None], tf.int32)})


def layout_of(model, beam):
    """Describes the arrays of the step programs in JSON types, for the code that calls them.

    Returns:
        `caches`: {beam width: {name: [whether it is part of a `KeptCache`, shape, type]}}; `kept`:
        the number of positions in a `KeptCache`, or None; and `attention`: {kind of attention:
        [layers, heads]}.
    """
    caches = {}
    for width in sorted({1, beam}):
        _, cache = structures_of(model, width)
        flags = named("cache", flags_of(cache))
        caches[width] = {
            name: [flags[name], spec.shape.as_list(), spec.dtype.name]
            for name, spec in named("cache", cache).items()
        }
    kept = getattr(model.config, "decoder_neighbourhood", None)
    return {"caches": caches, "kept": kept, "attention": attention_sizes(model)}


def attention_sizes(model):
    """Returns {kind of attention: [layers, heads]}."""
    ids = tf.TensorSpec([1, None], tf.int32)
    traced = tf.function(lambda *pair: all_attention(model, *pair), [ids, ids], autograph=False)
    outputs = traced.get_concrete_function().structured_outputs
    return {name: each.shape[1:3].as_list() for name, each in outputs.items()}


def flags_of(cache):
    if isinstance(cache, KeptCache):
        return [True, True]
    if type(cache) is list:
        return [flags_of(each) for each in cache]
    return keras.tree.map_structure(lambda _: False, cache)


def named(kind, structure):
    """Returns {name: array} for the arrays of a structure."""
    return {f"{kind}_{i}": array for i, array in enumerate(keras.tree.flatten(structure))}


def encoded(model, source):
    """Returns the arrays of the model's memory of a source."""
    memory, _ = model.start_decoding(source, 1, 1)
    return named("memory", memory)


def step_program(model, beam, length=None):
    """Returns the `Program` of a step with `beam` hypotheses for each sentence.

    With a `length`, it is a step for so many successive tokens of one hypothesis.
    """
    memory, cache = structures_of(model, beam)
    inputs = {
        "tokens": tf.TensorSpec([None, length] if length else [None], tf.int32),
        "position": tf.TensorSpec([1], tf.int32),
        "visible": tf.TensorSpec([None, length or beam, None], tf.float32),
    }
    inputs |= named("memory", memory) | named("cache", cache)

    def step(tokens, position, visible, **arrays):
        given = keras.tree.pack_sequence_as(memory, [arrays[n] for n in named("memory", memory)])
        past = keras.tree.pack_sequence_as(cache, [arrays[n] for n in named("cache", cache)])
        seen = visible if any(keras.tree.flatten(flags_of(cache))) else visible == 0
        position = tf.reshape(position, [])
        logits, new = model.decode_step(tokens, position, past, with_bias(given), seen)
        return top_tokens(logits, 2 * beam + SPARE) | {"logits": logits} | named("cache", new)

    return Program(step, inputs)


def structures_of(model, beam):
    """Returns the memory and the cache of a model as structures of `tf.TensorSpec`s."""

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2, autograph=False)
    def start(source, room):
        return model.start_decoding(source, tf.shape(room)[1], beam)

    outputs = start.get_concrete_function().structured_outputs
    memory, cache = keras.tree.map_structure(lambda x: tf.TensorSpec(x.shape, x.dtype), outputs)
    return memory, kept(cache)


def kept(cache):
    """Returns a cache whose `KeysValues` are replaced by `KeptCache`s."""
    if isinstance(cache, KeysValues):
        return KeptCache(*cache)
    return [kept(each) for each in cache] if isinstance(cache, list) else cache


def with_bias(memory):
    """Returns a memory in which a `Transformer`'s mask is replaced by a `Bias`."""
    if not isinstance(memory, DecodingMemory):
        return memory
    mask = ops.expand_dims(ops.expand_dims(memory.mask, 1), 1)
    return memory._replace(mask=Bias(ops.where(mask, 0.0, -float("inf"))))


def top_tokens(logits, count):
    """Returns the best candidates of logits `[rows, vocabulary]`; see `decoding/top_tokens.py`."""
    size = group_size(logits.shape[-1])
    count = min(count, logits.shape[-1])
    if logits.shape[-1] // size <= 2 * count:
        values, ids = tf.math.top_k(logits, count)
    else:
        grouped = tf.reshape(logits, (-1, logits.shape[-1] // size, size))
        _, groups = tf.math.top_k(tf.reduce_max(grouped, axis=-1), count)
        candidates = tf.reshape(tf.gather(grouped, groups, batch_dims=1), (-1, count * size))
        values, places = tf.math.top_k(candidates, count)
        ids = tf.gather(groups, places // size, batch_dims=1) * size + places % size
    normalizer = values[:, 0] + tf.math.log(tf.reduce_sum(tf.exp(logits - values[:, :1]), axis=-1))
    return {"values": values, "ids": ids, "normalizer": normalizer}
