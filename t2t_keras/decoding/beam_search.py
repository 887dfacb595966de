"""Beam search (§6.1; Wu et al. 2016, arXiv 1609.08144, §7).

Each sentence has two sets of up to `beam` hypotheses. Live hypotheses are still being written
and are ranked by log P. Finished hypotheses have ended and are ranked by their score:

    log P / ((5 + length) / 6)^α        length: tokens of the hypothesis, including the end token

Each step considers the 2 · beam most likely continuations of the live hypotheses as candidates.
A candidate with the end token becomes a finished hypothesis if it is among the `beam` most likely.
The `beam` most likely of the other candidates become the next live hypotheses. There are always
enough: each live hypothesis has only one continuation that ends, so at most `beam` candidates end.

**When to stop.** A live hypothesis can only lose probability, and the penalty is largest at the
length limit. Since log P ≤ 0 and α ≥ 0, no continuation of a live hypothesis can score more than

    log P / ((5 + limit) / 6)^α

With `stopping="exact"`, the search for a sentence stops when this bound, computed for its most
likely live hypothesis, is not above the score of its `n_best`-th best finished hypothesis. No later
step can then change the result. Two other rules stop earlier, and may miss a better hypothesis:
"first" divides by the penalty of the present length instead of the limit, and "patience" stops when
`beam` hypotheses have ended.

lone_search.py repeats this search for one sentence, for speed; a test holds both equal.
"""

from typing import Any, NamedTuple

from t2t_keras.decoding.constraints import IMPOSSIBLE, next_tokens
from t2t_keras.decoding.rows import (
    END,
    PADDING,
    Hypotheses,
    best,
    length_limits,
    length_penalty,
    newest_tokens,
    with_token,
)
from t2t_keras.decoding_cache import extended
from t2t_keras.ops import map_structure, ops


class BeamState(NamedTuple):
    """The state between two steps. The first axis of every array is the sentence."""

    position: Any  # number of tokens generated so far
    limits: Any  # maximum length of each sentence's output: [sentences]
    live: Hypotheses  # scores: log P
    finished: Hypotheses
    visible: Any  # [sentences, beam, room · beam]: see `Transformer.decode_step`
    # Optional entries: "prefix" and options, see `BeamSearch.start`; "leaves" of a tree; entries of
    # `ConstrainedBeamSearch`.
    extras: dict
    memory: Any
    cache: Any


class Candidates(NamedTuple):
    """Continuations of a step's live hypotheses: `[sentences, candidates]`."""

    hypotheses: Hypotheses  # scores: log P
    parents: Any  # index of the live hypothesis that each candidate continues
    newest: Any  # new token of each candidate
    may_end: Any  # whether it may finish, by an end token or, if none has ended, at the limit
    extras: dict  # new entries of the state's `extras`, with a value for each candidate


class BeamSearch:
    """Beam search with a `Transformer` or an `Ensemble`; decoding/search.py calls its methods.

    If `trees`, a `TreeConstraint`, is not None, outputs must be trees.
    """

    def __init__(self, model, config, trees=None):
        self.model, self.config, self.trees = model, config, trees

    def start(self, source, room, longest=None, extras=None):
        """Returns the state before the first token.

        Args:
            source: ids `[sentences, source_length]`.
            room: initial capacity of the arrays, in tokens.
            longest: maximum output length, including the end token. None: no maximum. Each
                sentence also has its own limit: its source length plus `config.extra_length`.
            extras: None, or a dict with "prefix" (see `next_tokens`) and options of each sentence:
                "n_best", "alpha" and "no_repeat_ngram", perhaps also "beam", each `[sentences]`.
                The width `config.beam` is the largest. A narrower beam of width k uses the first k
                places and the 2k most likely continuations, so it has the results of a search
                with this width; a beam of 1 is greedy, as in `search.method_of`. With "beam", there
                must be a "prefix".
        """
        beam = self.config.beam
        limits, extras = length_limits(source, longest, self.config), extras or {}
        if self.trees is not None:
            limits, extras = self.trees.start(source, limits, longest, extras)
        memory, cache = self.model.start_decoding(source, room, beam)
        sentences = ops.shape(source)[0]
        no_tokens = ops.zeros((sentences, beam, room), "int32")
        # Only one hypothesis is live at first: `beam` empty ones would have the same continuations.
        first_only = ops.where(ops.arange(beam, dtype="int32") == 0, 0.0, IMPOSSIBLE)
        first_only = ops.cast(first_only, "float32") + ops.zeros((sentences, 1), "float32")
        return BeamState(
            ops.convert_to_tensor(0, "int32"),
            limits,
            Hypotheses(no_tokens, first_only),
            Hypotheses(no_tokens, ops.full((sentences, beam), IMPOSSIBLE, "float32")),
            ops.zeros((sentences, beam, room * beam), "bool"),
            extras,
            memory,
            cache,
        )

    def unfinished(self, state):
        """Returns booleans `[sentences]`: whether the result of each sentence may still improve."""
        limits, best_live = state.limits, state.live.scores[:, 0]
        can_continue = (state.position < limits) & (best_live > IMPOSSIBLE)
        if self.config.stopping == "patience":
            return can_continue & (self.finished_score(state, "beam") == IMPOSSIBLE)
        length = limits if self.config.stopping == "exact" else state.position
        bound = best_live / length_penalty(length, self.config, state.extras.get("alpha"))
        return can_continue & (bound > self.finished_score(state, "n_best"))

    def finished_score(self, state, rank):
        """Returns the score of each sentence's finished hypothesis of a rank, or −∞: `[sentences]`.

        `rank` is the name of the setting that is the rank: "n_best" or "beam".
        """
        scores, ranks = state.finished.scores, state.extras.get(rank)
        if ranks is None:
            return scores[:, getattr(self.config, rank) - 1]
        return ops.take_along_axis(scores, ranks[:, None] - 1, axis=1)[:, 0]

    def step(self, state):
        """Returns the state after one more token."""
        beam = self.config.beam
        if self.config.stopping != "exact":  # a finished search would continue with its batch
            scores = ops.where(self.unfinished(state)[:, None], state.live.scores, IMPOSSIBLE)
            state = state._replace(live=state.live._replace(scores=scores))
        position, limits, live, finished, visible, *_ = state
        slots = ops.arange(ops.shape(visible)[2], dtype="int32")
        own = slots % beam == ops.arange(beam, dtype="int32")[:, None]
        visible = visible | (own & (slots // beam == position))
        newest = ops.reshape(newest_tokens(live.tokens, position), (-1,))
        logits, cache = self.model.decode_step(newest, position, state.cache, state.memory, visible)
        logits = ops.reshape(logits, (-1, beam, logits.shape[-1]))
        candidates, parents, newest, may_end, extras = self.continuations(state, logits)

        # An end token finishes a hypothesis, unless it is forbidden. A sentence that reaches its
        # limit with no finished hypothesis is cut off there: its live hypotheses count as finished.
        position, limits = position + 1, limits[:, None]
        at_limit = position >= limits
        ends = (newest == END) & may_end & (candidates.scores > IMPOSSIBLE)
        none = ~ops.any(ends, axis=1, keepdims=True) & (finished.scores[:, :1] == IMPOSSIBLE)
        ended = (ends | (at_limit & none & may_end)) & (position <= limits)
        alpha = state.extras.get("alpha")
        alpha = None if alpha is None else alpha[:, None]
        scores = candidates.scores / length_penalty(position, self.config, alpha)
        ended = Hypotheses(candidates.tokens, ops.where(ended, scores, IMPOSSIBLE))
        both = (ops.concatenate(parts, axis=1) for parts in zip(finished, ended, strict=True))
        finished, _ = best(Hypotheses(*both), beam)
        continues = (newest != END) & ~at_limit
        scores = ops.where(continues, candidates.scores, IMPOSSIBLE)
        live, chosen = best(Hypotheses(candidates.tokens, scores), beam)
        if "beam" in state.extras:
            widths = state.extras["beam"][:, None]
            live, finished = only_first(live, widths), only_first(finished, widths)
            # Greedy search stops at the first end token, a wider beam when it cannot improve.
            has_ended = (widths == 1) & (finished.scores[:, :1] > IMPOSSIBLE)
            live = live._replace(scores=ops.where(has_ended, IMPOSSIBLE, live.scores))
        origin = ops.take_along_axis(parents, chosen, axis=1)
        visible = ops.take_along_axis(visible, origin[..., None], axis=1)
        extras = state.extras | map_structure(
            lambda x: ops.take_along_axis(x, chosen[..., None], axis=1), extras
        )
        return state._replace(
            position=position,
            live=live,
            finished=finished,
            visible=visible,
            extras=extras,
            cache=cache,
        )

    def continuations(self, state, logits):
        """Returns `Candidates`: the 2 · beam most likely continuations, most likely first.

        `logits` are `[sentences, beam, vocabulary]`. Only the first `beam` candidates may end.
        """
        if "beam" not in state.extras:
            return self.likeliest(state, logits)
        prefix, beam = state.extras["prefix"], state.extras["beam"][:, None]
        here = ops.arange(ops.shape(prefix)[1], dtype="int32") == state.position
        masks = ops.any(here & (prefix != PADDING)) | ops.any(state.extras["no_repeat_ngram"] > 0)
        without = {name: each for name, each in state.extras.items() if name != "prefix"}
        without["no_repeat_ngram"] = 0
        candidates = ops.cond(  # masking is expensive, and prefixes are short
            masks,
            lambda: self.likeliest(state, logits),
            lambda: self.likeliest(state._replace(extras=without), logits),
        )
        newest, (tokens, scores) = candidates.newest, candidates.hypotheses
        rank = ops.arange(newest.shape[1], dtype="int32")
        allowed = (rank < 2 * beam) & ((rank < beam) | (newest != END))
        scores = ops.where(allowed, scores, IMPOSSIBLE)
        return candidates._replace(hypotheses=Hypotheses(tokens, scores))

    def likeliest(self, state, logits):
        """Returns the `Candidates` of the widest beam."""
        beam, live = self.config.beam, state.live
        log_p, tokens = next_tokens(self, logits, 2 * beam, live.tokens, state)
        per_hypothesis = tokens.shape[-1]
        log_p = ops.reshape(log_p + live.scores[..., None], (-1, beam * per_hypothesis))
        scores, chosen = ops.top_k(log_p, min(2 * beam, beam * per_hypothesis))
        tokens = ops.reshape(tokens, (-1, beam * per_hypothesis))
        newest = ops.take_along_axis(tokens, chosen, axis=1)
        parents = chosen // per_hypothesis
        hypotheses = Hypotheses(self.continued(state, parents, newest), scores)
        may_end = ops.arange(newest.shape[1], dtype="int32") < beam
        return Candidates(hypotheses, parents, newest, may_end, {})

    def continued(self, state, parents, newest):
        """Returns the tokens of the live hypotheses `parents`, extended by the tokens `newest`."""
        before = ops.take_along_axis(state.live.tokens, parents[..., None], axis=1)
        return with_token(before, state.position, newest)

    def with_room(self, state, room):
        """Returns the state with room for `room` tokens."""
        beam = self.config.beam
        return state._replace(
            live=state.live._replace(tokens=extended(state.live.tokens, 2, room)),
            finished=state.finished._replace(tokens=extended(state.finished.tokens, 2, room)),
            visible=extended(state.visible, 2, room * beam),
            cache=self.model.extend_cache(state.cache, room, beam),
        )

    def hypotheses(self, state):
        """Returns the `config.n_best` best hypotheses of each sentence.

        Hypotheses that were cut off at the limit are included only if none has ended. With an
        "n_best" of each sentence, there are `config.beam`, and those beyond it have the score −∞.
        """
        if "n_best" in state.extras:
            return only_first(state.finished, state.extras["n_best"][:, None])
        tokens, scores = state.finished
        return Hypotheses(tokens[:, : self.config.n_best], scores[:, : self.config.n_best])


def only_first(hypotheses, count):
    """Returns `Hypotheses` with the score −∞ beyond the first `count`, `[sentences, 1]`."""
    rank = ops.arange(hypotheses.scores.shape[1], dtype="int32")
    return hypotheses._replace(scores=ops.where(rank < count, hypotheses.scores, IMPOSSIBLE))
