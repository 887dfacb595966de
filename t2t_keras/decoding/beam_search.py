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

import numpy as np
from keras import ops

from t2t_keras.decoding.hypotheses import BEGIN, END, Hypotheses, limits_of, penalty

NEVER = -np.inf  # the score of what does not exist


class State(NamedTuple):
    """What goes from step to step."""

    position: Any  # how many tokens are written
    live: Hypotheses  # scores: log P
    finished: Hypotheses
    visible: Any  # [sentences, beam, length · beam]: see `Transformer.decode_step`
    cache: Any


def beam_search(model, source, max_length, config):
    """Searches for the best translations of each sentence.

    Args:
        model: a `Transformer`.
        source: ids `[sentences, source_length]`.
        max_length: of the longest output, its end included. Each sentence has a limit of its
            own besides: its tokens and `config.extra_length`.
        config: a `SearchConfig`.

    Returns:
        `Hypotheses`, `config.n_best` a sentence. One that found no end within the limit is cut
        off there, and is only returned if no other did.
    """
    beam = config.beam
    sentences = ops.shape(source)[0]
    limits = limits_of(source, max_length, config)[:, None]
    memory, cache = model.start_decoding(source, max_length, beam)
    slots = np.arange(max_length * beam)
    own = slots % beam == np.arange(beam)[:, None]

    def more(state):
        position, live, finished, *_ = state
        within = position < limits[:, 0]
        open_ones = within & (live.scores[:, 0] > NEVER)
        if config.early_stopping:
            bound = live.scores[:, 0] / penalty(limits[:, 0], config.alpha)
            open_ones = open_ones & (bound > finished.scores[:, config.n_best - 1])
        return ops.any(open_ones)

    def step(state):
        position, live, finished, visible, cache = state
        last = ops.take(live.tokens, ops.maximum(position - 1, 0), axis=2)
        last = ops.where(position == 0, BEGIN, last)
        visible = visible | (own & (slots // beam == position))
        logits, cache = model.decode_step(
            ops.reshape(last, (-1,)), position, cache, memory, visible
        )
        candidates, parents, newest = continuations(live, logits, position)

        # A hypothesis ends by its end, or, if none of its sentence did, at the limit.
        at_limit = position + 1 >= limits
        likely = ops.arange(newest.shape[1]) < beam
        ends = (newest == END) & likely
        none = ~ops.any(ends, axis=1, keepdims=True) & (finished.scores[:, :1] == NEVER)
        ended = (ends | (at_limit & none & likely)) & (position < limits)
        scores = candidates.scores / penalty(position + 1, config.alpha)
        ended = Hypotheses(candidates.tokens, only(ended, scores))
        finished, _ = best(together(finished, ended), beam)
        unfinished = Hypotheses(
            candidates.tokens, only((newest != END) & ~at_limit, candidates.scores)
        )
        live, chosen = best(unfinished, beam)
        origin = ops.take_along_axis(parents, chosen, axis=1)
        visible = ops.take_along_axis(visible, origin[..., None], axis=1)
        return State(position + 1, live, finished, visible, cache)

    nothing = ops.zeros((sentences, beam, max_length), "int32")
    # One hypothesis is live at first: `beam` equal ones would go on as one.
    first = ops.where(ops.arange(beam) == 0, 0.0, NEVER) + ops.zeros((sentences, 1))
    start = State(
        ops.convert_to_tensor(0, "int32"),
        Hypotheses(nothing, first),
        Hypotheses(nothing, ops.full((sentences, beam), NEVER)),
        ops.zeros((sentences, beam, max_length * beam), "bool"),
        cache,
    )
    flat = ops.while_loop(
        lambda *parts: more(packed(parts)),
        lambda *parts: flattened(step(packed(parts))),
        flattened(start),
    )
    tokens, scores = packed(flat).finished
    return Hypotheses(tokens[:, : config.n_best], scores[:, : config.n_best])


def continuations(live, logits, position):
    """The 2 · beam likeliest continuations of each sentence's live hypotheses.

    Returns:
        `Hypotheses` with their log P, the hypotheses that they go on from, their new tokens.
    """
    sentences, beam, _ = ops.shape(live.tokens)
    vocabulary = logits.shape[-1]
    each = min(2 * beam, vocabulary)  # no more of one hypothesis can be among them
    likeliest, tokens = ops.top_k(logits, each)
    normalizer = ops.logsumexp(logits, axis=-1, keepdims=True)
    log_p = ops.reshape(likeliest - normalizer, (sentences, beam, each)) + live.scores[..., None]
    scores, chosen = ops.top_k(ops.reshape(log_p, (sentences, -1)), min(2 * beam, beam * each))
    tokens = ops.reshape(ops.cast(tokens, "int32"), (sentences, -1))
    newest = ops.take_along_axis(tokens, chosen, axis=1)
    parents = chosen // each
    written = ops.take_along_axis(live.tokens, parents[..., None], axis=1)
    here = ops.arange(written.shape[-1]) == position
    return Hypotheses(ops.where(here, newest[..., None], written), scores), parents, newest


def only(wanted, scores):
    return ops.where(wanted, scores, NEVER)


def together(some, others):
    return Hypotheses(
        ops.concatenate([some.tokens, others.tokens], axis=1),
        ops.concatenate([some.scores, others.scores], axis=1),
    )


def best(hypotheses, count):
    """The `count` of the highest scores, and where they stood."""
    scores, chosen = ops.top_k(hypotheses.scores, count)
    tokens = ops.take_along_axis(hypotheses.tokens, chosen[..., None], axis=1)
    return Hypotheses(tokens, scores), chosen


def flattened(state):
    """A state as `while_loop` takes it."""
    return (state.position, *state.live, *state.finished, state.visible, state.cache)


def packed(parts):
    position, live, live_scores, finished, finished_scores, visible, cache = parts
    return State(
        position,
        Hypotheses(live, live_scores),
        Hypotheses(finished, finished_scores),
        visible,
        cache,
    )
