"""Beam search in which each sentence has its own options.

The arrays have room for the widest beam. A narrower beam of width k uses the first k places and the
2k most likely continuations, so its results are those of a search with this width. A beam of 1 is
greedy, as in `search.method_of`. A search with required phrases always uses the widest beam.
"""

import copy
import dataclasses

from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.constraints import IMPOSSIBLE, without_repeats
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.rows import END, PADDING, Hypotheses
from t2t_keras.ops import ops


class WithOptions:
    """Beam search mixin that gives each sentence its own n_best, α and n-gram length.

    The `extras` of `start` must contain "n_best", "alpha" and "no_repeat_ngram", each
    `[sentences]`. "n_best" must not exceed the beam width.

    Args:
        model: a `Transformer` or an `Ensemble`.
        config: a `SearchConfig`. The search returns `config.beam` hypotheses for each sentence;
            hypotheses beyond the sentence's "n_best" have the score −∞.
        *arguments: further arguments of the beam search.
    """

    def __init__(self, model, config, *arguments):
        config = dataclasses.replace(config, n_best=config.beam, no_repeat_ngram=0)
        super().__init__(model, config, *arguments)

    def unfinished(self, state):
        return super(WithOptions, self.with_alpha(state.extras["alpha"])).unfinished(state)

    def worst_result(self, state):
        rank = state.extras["n_best"][:, None] - 1
        return ops.take_along_axis(state.finished.scores, rank, axis=1)[:, 0]

    def step(self, state):
        return super(WithOptions, self.with_alpha(state.extras["alpha"][:, None])).step(state)

    def constraint(self, state):
        others, n = super().constraint(state), state.extras.get("no_repeat_ngram")
        if n is None:
            return others

        def constrained(logits):
            logits = logits if others is None else others(logits)
            of_state = state.live.tokens, state.position, n
            return ops.cond(
                ops.any(n > 0), lambda: without_repeats(logits, *of_state), lambda: logits
            )

        return constrained

    def hypotheses(self, state):
        return first(super().hypotheses(state), state.extras["n_best"][:, None])

    def with_alpha(self, alpha):
        """Returns a copy of the search with a different α, given as an array."""
        search = copy.copy(self)
        search.config = dataclasses.replace(self.config, alpha=alpha)
        return search


class BeamSearchWithOptions(WithOptions, BeamSearch):
    """Beam search with options for each sentence, including the beam width.

    The `extras` of `start` must also contain "prefix", and "beam" `[sentences]`, which must not
    exceed `config.beam`.
    """

    def step(self, state):
        beam = state.extras["beam"][:, None]
        state = super().step(state)
        live, finished = first(state.live, beam), first(state.finished, beam)
        # Greedy search stops at the first end token; a wider beam continues while it can improve.
        ended = (beam == 1) & (finished.scores[:, :1] > IMPOSSIBLE)
        live = live._replace(scores=ops.where(ended, IMPOSSIBLE, live.scores))
        return state._replace(live=live, finished=finished)

    def continuations(self, state, logits):
        prefix, beam = state.extras["prefix"], state.extras["beam"][:, None]
        here = ops.arange(ops.shape(prefix)[1], dtype="int32") == state.position
        masks = ops.any(here & (prefix != PADDING)) | ops.any(state.extras["no_repeat_ngram"] > 0)
        continuations, masking = super().continuations, ("prefix", "no_repeat_ngram")
        without = {name: each for name, each in state.extras.items() if name not in masking}
        candidates = ops.cond(  # masking is expensive, and prefixes are short
            masks,
            lambda: continuations(state, logits),
            lambda: continuations(state._replace(extras=without), logits),
        )
        newest, (tokens, scores) = candidates.newest, candidates.hypotheses
        rank = ops.arange(newest.shape[1], dtype="int32")
        allowed = (rank < 2 * beam) & ((rank < beam) | (newest != END))
        scores = ops.where(allowed, scores, IMPOSSIBLE)
        return candidates._replace(hypotheses=Hypotheses(tokens, scores))


class ConstrainedBeamSearchWithOptions(WithOptions, ConstrainedBeamSearch):
    """`ConstrainedBeamSearch` with options for each sentence. All use the widest beam."""


def first(hypotheses, count):
    """Returns `Hypotheses` with the score −∞ beyond the first `count`, `[sentences, 1]`."""
    rank = ops.arange(hypotheses.scores.shape[1], dtype="int32")
    return hypotheses._replace(scores=ops.where(rank < count, hypotheses.scores, IMPOSSIBLE))
