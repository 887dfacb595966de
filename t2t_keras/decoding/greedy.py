"""Greedy decoding: each step chooses the most likely token."""

from typing import Any, NamedTuple

from t2t_keras.decoding.constraints import next_tokens
from t2t_keras.decoding.rows import (
    END,
    PADDING,
    Hypotheses,
    length_limits,
    length_penalty,
    newest_tokens,
    with_token,
)
from t2t_keras.decoding_cache import extended, own_slots
from t2t_keras.ops import ops


class GreedyState(NamedTuple):
    """The state between two steps. The first axis of arrays is the sentence."""

    position: Any  # number of tokens generated so far
    limits: Any  # maximum length of each sentence's output: [sentences]
    hypotheses: Hypotheses  # scores: log P
    live: Any  # which hypotheses have not ended: [sentences, hypotheses]
    extras: dict  # optional: "prefix" (see `next_tokens`), "draws" (see `draws_of`), "leaves"
    memory: Any
    cache: Any


class Greedy:
    """Greedy decoding with a `Transformer` or an `Ensemble`; decoding/search.py calls its methods.

    If `trees`, a `TreeConstraint`, is not None, outputs must be trees.
    """

    count = 1  # hypotheses per sentence

    def __init__(self, model, config, trees=None):
        self.model, self.config, self.trees = model, config, trees

    def start(self, source, room, longest=None, extras=None):
        """Returns the state before the first token; arguments as in `BeamSearch.start`."""
        memory, cache = self.model.start_decoding(source, room, self.count)
        rows = (ops.shape(source)[0], self.count)
        limits, extras = length_limits(source, longest, self.config), extras or {}
        if self.trees is not None:
            limits, extras = self.trees.start(source, limits, longest, extras)
        return GreedyState(
            ops.convert_to_tensor(0, "int32"),
            limits,
            Hypotheses(ops.zeros((*rows, room), "int32"), ops.zeros(rows, "float32")),
            ops.broadcast_to(limits[:, None] > 0, rows),
            extras,
            memory,
            cache,
        )

    def unfinished(self, state):
        """Returns booleans `[sentences]`: whether a hypothesis of each sentence is unfinished."""
        return ops.any(state.live, axis=1)

    def step(self, state):
        """Returns the state after one more token."""
        position, (tokens, log_p), live = state.position, state.hypotheses, state.live
        newest = ops.reshape(newest_tokens(tokens, position), (-1,))
        visible = None
        if self.count > 1:
            slots = ops.shape(tokens)[2] * self.count
            visible = own_slots(position, self.count, slots)
        logits, cache = self.model.decode_step(newest, position, state.cache, state.memory, visible)
        logits = ops.reshape(logits, (-1, self.count, logits.shape[-1]))
        token_log_p, chosen = self.choose(logits, state)
        chosen = ops.where(live, chosen, PADDING)
        position = position + 1
        return state._replace(
            position=position,
            hypotheses=Hypotheses(
                with_token(tokens, state.position, chosen),
                log_p + ops.where(live, token_log_p, 0.0),
            ),
            live=live & (chosen != END) & (position < state.limits[:, None]),
            cache=cache,
        )

    def choose(self, logits, state):
        """Returns log P and id of the next token of each hypothesis."""
        log_p, ids = next_tokens(self, logits, 1, state.hypotheses.tokens, state)
        log_p, best = ops.top_k(log_p, 1)  # LiteRT lacks some operations of argmax
        return log_p[..., 0], ops.take_along_axis(ids, best, axis=-1)[..., 0]

    def with_room(self, state, room):
        """Returns the state with room for `room` tokens."""
        tokens, log_p = state.hypotheses
        return state._replace(
            hypotheses=Hypotheses(extended(tokens, 2, room), log_p),
            cache=self.model.extend_cache(state.cache, room, self.count),
        )

    def hypotheses(self, state):
        """Returns the hypotheses of each sentence, scored as in beam search."""
        tokens, log_p = state.hypotheses
        lengths = ops.sum(ops.cast(tokens != PADDING, "int32"), axis=-1)
        return Hypotheses(tokens, log_p / length_penalty(lengths, self.config))
