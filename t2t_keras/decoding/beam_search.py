"""Beam search (§6.1; Wu et al. 2016, arXiv 1609.08144, §7).

A sentence has two sets of hypotheses, `beam` of each. The live ones are still being written and
are kept by their probability. The finished ones have ended and are kept by their score

    log P / ((5 + length) / 6)^α        length: the tokens of the hypothesis, its end included

At every step the 2 · beam likeliest continuations of the live ones are looked at. Those that end
are finished if they are among the `beam` likeliest. However many end, at least `beam` do not: the
likeliest of these are the next live ones.

**When to stop.** A live hypothesis of probability P can only lose probability, and the penalty is
largest at the greatest length that it may reach. Since log P ≤ 0 and α ≥ 0, no continuation of
it can score more than log P / ((5 + limit) / 6)^α. Where this is not above the score of the last
finished hypothesis that is wanted, for the likeliest live one, nothing that is still to come
changes the result.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.decoding.constraints import NEVER, next_tokens
from t2t_keras.decoding.hypotheses import (
    END,
    Hypotheses,
    best,
    limits_of,
    longer,
    newest_of,
    penalty,
    written,
)


class BeamState(NamedTuple):
    """What goes from step to step; the sentences are the first axis of all but `position`."""

    position: Any  # how many tokens are written
    limits: Any  # how many may be: [sentences]
    live: Hypotheses  # scores: log P
    finished: Hypotheses
    visible: Any  # [sentences, beam, room · beam]: see `Transformer.decode_step`
    extras: dict  # {"prefix": …} or nothing, see `next_tokens`
    memory: Any
    cache: Any


class BeamSearch:
    """Beam search with a model; `decoding/search.py` says how its methods are called.

    Args:
        model: a `Transformer`, or what decodes as it does.
        config: a `SearchConfig`.
    """

    def __init__(self, model, config):
        self.model, self.config = model, config

    def start(self, source, room, longest=None, extras=None):
        """The state before the first token.

        Args:
            source: ids `[sentences, source_length]`.
            room: for how many tokens there is room at first.
            longest: the longest output, its end included. Each sentence has a limit of its
                own besides: its tokens and `config.extra_length`. None: no other.
            extras: {"prefix": see `next_tokens`}, or nothing.
        """
        beam = self.config.beam
        memory, cache = self.model.start_decoding(source, room, beam)
        sentences = ops.shape(source)[0]
        nothing = ops.zeros((sentences, beam, room), "int32")
        # One hypothesis is live at first: `beam` equal ones would go on as one.
        first = ops.where(ops.arange(beam) == 0, 0.0, NEVER) + ops.zeros((sentences, 1))
        return BeamState(
            ops.convert_to_tensor(0, "int32"),
            limits_of(source, longest, self.config),
            Hypotheses(nothing, first),
            Hypotheses(nothing, ops.full((sentences, beam), NEVER)),
            ops.zeros((sentences, beam, room * beam), "bool"),
            extras or {},
            memory,
            cache,
        )

    def unfinished(self, state):
        """Which sentences may still find something better: `[sentences]`."""
        limits, live = state.limits, state.live.scores[:, 0]
        going = (state.position < limits) & (live > NEVER)
        if self.config.early_stopping:
            bound = live / penalty(limits, self.config.alpha)
            going = going & (bound > state.finished.scores[:, self.config.n_best - 1])
        return going

    def step(self, state):
        """One token more for each live hypothesis."""
        beam, alpha = self.config.beam, self.config.alpha
        position, limits, live, finished, visible, *_ = state
        slots = ops.arange(ops.shape(visible)[2], dtype="int32")
        own = slots % beam == ops.arange(beam)[:, None]
        visible = visible | (own & (slots // beam == position))
        newest = ops.reshape(newest_of(live.tokens, position), (-1,))
        logits, cache = self.model.decode_step(newest, position, state.cache, state.memory, visible)
        candidates, parents, newest = self.continuations(live, logits, position, state.extras)

        # A hypothesis ends by its end, or, if none of its sentence did, at the limit.
        position, limits = position + 1, limits[:, None]
        at_limit = position >= limits
        likely = ops.arange(newest.shape[1]) < beam
        ends = (newest == END) & likely
        none = ~ops.any(ends, axis=1, keepdims=True) & (finished.scores[:, :1] == NEVER)
        ended = (ends | (at_limit & none & likely)) & (position <= limits)
        scores = candidates.scores / penalty(position, alpha)
        ended = Hypotheses(candidates.tokens, ops.where(ended, scores, NEVER))
        finished, _ = best(together(finished, ended), beam)
        goes_on = (newest != END) & ~at_limit
        unfinished = Hypotheses(candidates.tokens, ops.where(goes_on, candidates.scores, NEVER))
        live, chosen = best(unfinished, beam)
        origin = ops.take_along_axis(parents, chosen, axis=1)
        visible = ops.take_along_axis(visible, origin[..., None], axis=1)
        return state._replace(
            position=position, live=live, finished=finished, visible=visible, cache=cache
        )

    def continuations(self, live, logits, position, extras):
        """The 2 · beam likeliest continuations of each sentence's live hypotheses.

        Returns:
            `Hypotheses` with their log P, the hypotheses that they go on from, their new tokens.
        """
        beam, vocabulary = self.config.beam, logits.shape[-1]
        logits = ops.reshape(logits, (-1, beam, vocabulary))
        log_p, tokens = next_tokens(logits, 2 * beam, live.tokens, position, self.config, **extras)
        each = tokens.shape[-1]
        log_p = ops.reshape(log_p + live.scores[..., None], (-1, beam * each))
        scores, chosen = ops.top_k(log_p, min(2 * beam, beam * each))
        tokens = ops.reshape(tokens, (-1, beam * each))
        newest = ops.take_along_axis(tokens, chosen, axis=1)
        parents = chosen // each
        before = ops.take_along_axis(live.tokens, parents[..., None], axis=1)
        return Hypotheses(written(before, position, newest), scores), parents, newest

    def with_room(self, state, room):
        """The state with room for more tokens."""
        beam = self.config.beam
        return state._replace(
            live=state.live._replace(tokens=longer(state.live.tokens, 2, room)),
            finished=state.finished._replace(tokens=longer(state.finished.tokens, 2, room)),
            visible=longer(state.visible, 2, room * beam),
            cache=keras.tree.map_structure(lambda x: longer(x, 2, room * beam), state.cache),
        )

    def hypotheses(self, state):
        """The best: `config.n_best` a sentence. One that found no end within its limit is cut
        off there, and is only among them if no other did."""
        tokens, scores = state.finished
        return Hypotheses(tokens[:, : self.config.n_best], scores[:, : self.config.n_best])


def together(some, others):
    return Hypotheses(
        ops.concatenate([some.tokens, others.tokens], axis=1),
        ops.concatenate([some.scores, others.scores], axis=1),
    )
