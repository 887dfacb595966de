"""The search that a `SearchConfig` asks for, in one graph or in stages.

Every search has the same methods: `start` gives a state, `step` the state with one token more,
`unfinished` says which sentences are still open, `with_room` makes room for more tokens, and
`hypotheses` are what was found. All arrays of a state but `position` have the sentences first.
"""

import keras
import numpy as np
from keras import ops

from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.greedy import Greedy
from t2t_keras.decoding.hypotheses import Hypotheses
from t2t_keras.decoding.sampling import Sampling, draws_of

STAGE = 16  # tokens


def method_of(model, config):
    """The search, made for a model."""
    if config.method == "sample":
        return Sampling(model, config)
    return Greedy(model, config) if config.beam == 1 else BeamSearch(model, config)


def search(model, source, max_length, config, prefix=None, numbers=None):
    """Searches for the best translations of each sentence, in one graph if called in one.

    Args:
        model: a `Transformer`, or an `Ensemble` of several.
        source: ids `[sentences, source_length]`.
        max_length: of the longest output, its end included. Each sentence has a limit of its
            own besides: its tokens and `config.extra_length`.
        config: a `SearchConfig`.
        prefix: ids `[sentences, prefix_length]` that the outputs must begin with.
        numbers: those of the sentences; sampling draws by them. None: from 0.

    Returns:
        `Hypotheses`, `config.n_best` a sentence.
    """
    method = method_of(model, config)
    extras = {} if prefix is None else {"prefix": ops.convert_to_tensor(prefix, "int32")}
    if config.method == "sample":
        numbers = range(source.shape[0]) if numbers is None else numbers
        extras["draws"] = ops.convert_to_tensor(draws_of(numbers, max_length, config))
    state = method.start(source, max_length, max_length, extras)
    return method.hypotheses(advanced(method, state, max_length))


def advanced(method, state, until):
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


class StagedSearch:
    """A search that stops every few tokens, so that what is finished costs nothing.

    Between two stages the finished sentences leave, and the others get room for the next one:
    nothing is computed for a sentence that has ended, nor for positions that are far ahead.

    Args:
        method: from `method_of`.
        start, advance: `method.start` and `advanced`, as the caller has compiled them.
    """

    def __init__(self, method, start, advance):
        self.method, self.start, self.advance = method, start, advance

    def __call__(self, source, *extras):
        """The `Hypotheses` of each sentence as NumPy arrays; arguments as of `method.start`."""
        state = self.start(source, *extras)
        rows = np.arange(len(source))
        found = []  # (rows, tokens, scores) of those that left
        until = STAGE
        while len(rows):
            state = self.advance(state, until)
            going = np.asarray(self.method.unfinished(state))
            if not going.all():
                finished = self.method.hypotheses(of_sentences(state, np.flatnonzero(~going)))
                found.append((rows[~going], *map(ops.convert_to_numpy, finished)))
                rows = rows[going]
                state = of_sentences(state, np.flatnonzero(going))
            until += STAGE
            if len(rows):
                state = self.method.with_room(state, until)
        return put_together(found)


def of_sentences(state, rows):
    """The state of these sentences alone."""
    arrays = state._replace(position=())
    chosen = keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), arrays)
    return chosen._replace(position=state.position)


def put_together(found):
    """What was found at different stages, in the order of the sentences."""
    longest = max(tokens.shape[2] for _, tokens, _ in found)
    rows = np.concatenate([rows for rows, _, _ in found])
    tokens = [np.pad(t, [(0, 0), (0, 0), (0, longest - t.shape[2])]) for _, t, _ in found]
    scores = [scores for _, _, scores in found]
    order = np.argsort(rows)
    return Hypotheses(np.concatenate(tokens)[order], np.concatenate(scores)[order])
