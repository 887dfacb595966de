"""The search that a `SearchConfig` asks for.

Every search has the same methods: `start` gives a state, `step` the state with one token more,
`unfinished` says which sentences are still open, `with_room` makes room for more tokens, and
`hypotheses` are what was found. All arrays of a state but `position` have the sentences first.
"""

import keras
from keras import ops

from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.greedy import Greedy
from t2t_keras.decoding.sampling import Sampling, draws_of


def method_of(model, config):
    """The search, made for a model."""
    if config.method == "sample":
        return Sampling(model, config)
    return Greedy(model, config) if config.beam == 1 else BeamSearch(model, config)


def search(model, source, max_length, config, prefix=None, indices=None):
    """Searches for the best translations of each sentence, in one graph if called in one.

    Args:
        model: a `Transformer`, or an `Ensemble` of several.
        source: ids `[sentences, source_length]`.
        max_length: of the longest output, its end included. Each sentence has a limit of its
            own besides: its tokens and `config.extra_length`.
        config: a `SearchConfig`.
        prefix: ids `[sentences, prefix_length]` that the outputs must begin with.
        indices: the index of each sentence, which seeds its samples. None: 0, 1, 2, …

    Returns:
        `Hypotheses`, `config.n_best` a sentence.
    """
    method = method_of(model, config)
    extras = {} if prefix is None else {"prefix": ops.convert_to_tensor(prefix, "int32")}
    if config.method == "sample":
        indices = range(source.shape[0]) if indices is None else indices
        extras["draws"] = ops.convert_to_tensor(draws_of(indices, max_length, config))
    state = method.start(source, max_length, max_length, extras)
    return method.hypotheses(advance(method, state, max_length))


def advance(method, state, until):
    """The state after so many tokens, or as soon as all sentences are finished."""
    flat = keras.tree.flatten(state)

    def packed(parts):
        return keras.tree.pack_sequence_as(state, list(parts))

    def more(*parts):
        now = packed(parts)
        return (now.position < until) & ops.any(method.unfinished(now))

    def step(*parts):
        return tuple(keras.tree.flatten(method.step(packed(parts))))

    return packed(ops.while_loop(more, step, tuple(flat)))
