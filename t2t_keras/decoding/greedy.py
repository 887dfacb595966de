"""Greedy decoding: at every step the likeliest token."""

from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.decoding.constraints import next_tokens
from t2t_keras.decoding.hypotheses import (
    END,
    PADDING,
    Hypotheses,
    limits_of,
    longer,
    newest_of,
    penalty,
    written,
)
from t2t_keras.layers.decoding_cache import own_slots


class GreedyState(NamedTuple):
    """What goes from step to step; the sentences are the first axis of all but `position`."""

    position: Any  # how many tokens are written
    limits: Any  # how many may be: [sentences]
    hypotheses: Hypotheses  # scores: log P
    going: Any  # which of them have not ended: [sentences, hypotheses]
    extras: dict  # {"prefix": see `next_tokens`, "draws": see `Sampling`}, or less
    memory: Any
    cache: Any


class Greedy:
    """Greedy decoding; `decoding/search.py` says how its methods are called.

    Args: as of `BeamSearch`.
    """

    count = 1  # hypotheses a sentence

    def __init__(self, model, config):
        self.model, self.config = model, config

    def start(self, source, room, longest=None, extras=None):
        """Arguments: as of `BeamSearch`; sampling has its "draws" among the extras."""
        memory, cache = self.model.start_decoding(source, room, self.count)
        rows = (ops.shape(source)[0], self.count)
        limits = limits_of(source, longest, self.config)
        return GreedyState(
            ops.convert_to_tensor(0, "int32"),
            limits,
            Hypotheses(ops.zeros((*rows, room), "int32"), ops.zeros(rows)),
            ops.broadcast_to(limits[:, None] > 0, rows),
            extras or {},
            memory,
            cache,
        )

    def unfinished(self, state):
        """Which sentences have a hypothesis that has not ended: `[sentences]`."""
        return ops.any(state.going, axis=1)

    def step(self, state):
        """One token more for each hypothesis that has not ended."""
        position, (tokens, log_p), going = state.position, state.hypotheses, state.going
        newest = ops.reshape(newest_of(tokens, position), (-1,))
        visible = None
        if self.count > 1:
            slots = ops.shape(tokens)[2] * self.count
            visible = own_slots(position, self.count, slots)
        logits, cache = self.model.decode_step(newest, position, state.cache, state.memory, visible)
        logits = ops.reshape(logits, (-1, self.count, logits.shape[-1]))
        gained, chosen = self.choose(logits, state)
        chosen = ops.where(going, chosen, PADDING)
        position = position + 1
        return state._replace(
            position=position,
            hypotheses=Hypotheses(
                written(tokens, state.position, chosen),
                log_p + ops.where(going, gained, 0.0),
            ),
            going=going & (chosen != END) & (position < state.limits[:, None]),
            cache=cache,
        )

    def choose(self, logits, state):
        """log P and id of each hypothesis' next token."""
        prefix = state.extras.get("prefix")
        log_p, ids = next_tokens(
            logits, 1, state.hypotheses.tokens, state.position, self.config, prefix
        )
        first = ops.argmax(log_p, axis=-1)[..., None]
        return tuple(ops.take_along_axis(x, first, axis=-1)[..., 0] for x in (log_p, ids))

    def with_room(self, state, room):
        """The state with room for more tokens."""
        tokens, log_p = state.hypotheses
        return state._replace(
            hypotheses=Hypotheses(longer(tokens, 2, room), log_p),
            cache=keras.tree.map_structure(lambda x: longer(x, 2, room * self.count), state.cache),
        )

    def hypotheses(self, state):
        """Those of each sentence, with their scores: log P, divided as beam search does."""
        tokens, log_p = state.hypotheses
        lengths = ops.sum(ops.cast(tokens != PADDING, "int32"), axis=-1)
        return Hypotheses(tokens, log_p / penalty(lengths, self.config.alpha))
