"""The signatures of a SavedModel that take ids: searches, log P, attention.

`t2t_keras.translating` calls them. The signatures that take text contain the same graphs.
"""

import tensorflow as tf
from keras import ops

from t2t_keras.decoding.alignment import all_attention, attention_between
from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.decoding.search import advance, method_of
from t2t_keras.decoding.search_config import ROW_OPTIONS
from t2t_keras.export.search_in_stages import search_in_stages
from t2t_keras.export.signature_names import Ids

ROOM = 16  # maximum tokens by which an output of a compiled search exceeds its padded source


def rows(name, dtype=tf.int32, axes=1):
    return tf.TensorSpec([None] * axes, dtype, name)


SOURCE, TARGET, PREFIX = (rows(name, axes=2) for name in ("source", "target", "prefix"))
OPTIONS = tuple(rows(name, getattr(tf, dtype)) for name, dtype in ROW_OPTIONS.items())


def id_signatures(model, config, used_by, trees=None, follows=None, alignment=None):
    """Returns {name: signature}, where a signature is a `tf.function` of ids.

    The searches return `tokens` [rows, n, length] and `scores` [rows, n]. A missing hypothesis has
    the score −∞. The search for small batches, which XLA compiles for each shape, also returns
    whether all outputs fit into its arrays: XLA needs arrays of fixed length, and room for the
    longest possible output would slow down every step.

    Args:
        model: a `SequenceModel` in float32.
        config: a `SearchConfig`. Only beam search has signatures with options and phrases.
        used_by: see `compact_weights` in `saved_model.py`.
        follows: see `ConstrainedBeamSearch`. None: phrases cannot be required.
        alignment: the `AlignmentHead` that aligns words. None: the default head.
    """
    method, longest = method_of(model, config, trees), model.longest
    options = BeamSearch(model, config, trees)

    def search(source):
        return search_in_stages(method, source, longest)._asdict()

    def with_options(source, prefix, *values):
        return search_in_stages(options, source, longest, extras_of(prefix, values))._asdict()

    def with_phrases(source, prefix, phrases, *values):
        extras = extras_of(prefix, values) | {"phrases": phrases}
        return search_in_stages(constrained, source, longest, extras)._asdict()

    def log_p(source, target):
        return {"log_probabilities": log_probabilities(model, source, target)}

    def attention(source, target):
        return {"weights": attention_between(model, source, target, alignment)}

    @tf.function(jit_compile=True, autograph=False)
    def small_search(source):
        room = ops.shape(source)[1] + ROOM
        room = room if longest is None else ops.minimum(room, longest)
        state = advance(method, method.start(source, room, longest), room)
        finished = ~ops.any(method.unfinished(state))
        return method.hypotheses(state)._asdict() | {"finished": finished}

    functions = {
        Ids.SEARCH: (search, SOURCE),
        Ids.LOG_P: (log_p, SOURCE, TARGET),
        Ids.SMALL: (small_search, SOURCE),
    }
    if config.method == "beam":
        functions[Ids.OPTIONS] = (with_options, SOURCE, PREFIX, *OPTIONS)
        if follows is not None and trees is None:
            constrained = ConstrainedBeamSearch(model, config, follows)
            phrases = rows("phrases", axes=3)
            functions[Ids.PHRASES] = (with_phrases, SOURCE, PREFIX, phrases, *OPTIONS)
    if any(model.config.attention_layers):
        functions[Ids.ALL_ATTENTION] = (lambda *pair: all_attention(model, *pair), SOURCE, TARGET)
    if model.config.attention_layers[2]:
        functions[Ids.ATTENTION] = (attention, SOURCE, TARGET)
    return {
        name: tf.function(used_by(function), input_signature=signature, autograph=False)
        for name, (function, *signature) in functions.items()
    }


def extras_of(prefix, values):
    """Returns the optional inputs of a search. The prefix gets a padding column if it is empty."""
    prefix = tf.pad(prefix, [(0, 0), (0, 1)])
    return {"prefix": prefix} | dict(zip(ROW_OPTIONS, values, strict=True))
