"""Search on NumPy, for models whose steps run in a program without Keras."""

import numpy as np

from t2t_keras.decoding.batches import stacked
from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.ops import map_structure, on_numpy

STAGE = 16  # tokens by which the arrays grow


def numpy_search(method, source, longest=None, extras=None):
    """Returns the same hypotheses as `search`.

    Finished sentences are removed from the batch once they are half of it, so they cost little.

    Args:
        method: a search method, from `method_of`. Its model must also have the method
            `chosen(memory, cache, rows)`, which returns the memory and cache of some sentences.
        source, longest, extras: see the `start` method of the search.
    """
    with on_numpy():
        room = until_stage(1, longest)  # a step of a batch takes time for all of it
        state = method.start(source, room, longest, extras)
        rows, found = np.arange(len(source)), [None] * len(source)
        while True:
            state, unfinished = advanced(method, state, room)
            hypotheses = method.hypotheses(state)
            for place in np.flatnonzero(~unfinished):
                found[rows[place]] = [part[place] for part in hypotheses]
            if not unfinished.any():
                return Hypotheses(*map(stacked, zip(*found, strict=True))) if found else hypotheses
            if not unfinished.all():
                rows, state = rows[unfinished], chosen(method, state, np.flatnonzero(unfinished))
            if state.position == room:
                room = until_stage(room + 1, longest)
                state = method.with_room(state, room)


def until_stage(length, longest):
    """Rounds a length up to a multiple of `STAGE`, but not beyond `longest`."""
    room = -(-length // STAGE) * STAGE
    return room if longest is None else min(room, longest)


def advanced(method, state, room):
    """Steps until the arrays are full or half of the sentences are finished.

    Returns the state and which sentences are unfinished, `[sentences]`.
    """
    while True:
        unfinished = method.unfinished(state)
        few = 2 * np.count_nonzero(unfinished) <= len(unfinished)
        if few or state.position == room:
            return state, unfinished
        state = method.step(state)


def chosen(method, state, rows):
    """Returns a state with only the given sentences."""
    memory, cache = method.model.chosen(state.memory, state.cache, rows)
    others = state._replace(position=None, memory=None, cache=None)
    others = map_structure(lambda array: array[rows], others)
    return others._replace(position=state.position, memory=memory, cache=cache)
