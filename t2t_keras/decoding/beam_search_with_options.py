"""Beam search in which each sentence has its own options.

The arrays have room for the widest beam. A narrower beam of width k uses the first k places and the
2k most likely continuations, so its results are those of a search with this width. A beam of 1 is
greedy, as in `search.method_of`. A search for phrases has the widest beam only.
"""

import copy
import dataclasses

from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.constraints import IMPOSSIBLE, without_repeats
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.rows import END, PADDING, Hypotheses
from t2t_keras.ops import ops


class WithOptions:
    """A number of results, α and n-grams for each sentence, to be mixed into a beam search.

    The `extras` of `start` must have "n_best", "alpha" and "no_repeat_ngram" `[sentences]`. No
    sentence may have more results than the beam is wide.

    Args:
        model: a `Transformer` or an `Ensemble`.
        config: a `SearchConfig`. Each sentence has as many hypotheses as its beam is wide; the
            score of those that it does not ask for is −∞.
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
        """Returns the search with another α, given as an array."""
        search = copy.copy(self)
        search.config = dataclasses.replace(self.config, alpha=alpha)
        return search


class BeamSearchWithOptions(WithOptions, BeamSearch):
    """Beam search with options for each sentence, among them the width of its beam.

    The `extras` of `start` must also have "prefix" and "beam" `[sentences]`, at most `config.beam`.
    """

    def step(self, state):
        beam = state.extras["beam"][:, None]
        state = super().step(state)
        live, finished = first(state.live, beam), first(state.finished, beam)
        # Greedy search stops at the first end; a beam goes on while a better one is possible.
        ended = (beam == 1) & (finished.scores[:, :1] > IMPOSSIBLE)
        live = live._replace(scores=ops.where(ended, IMPOSSIBLE, live.scores))
        return state._replace(live=live, finished=finished)

    def continuations(self, state, logits):
        prefix, beam = state.extras["prefix"], state.extras["beam"][:, None]
        here = ops.arange(ops.shape(prefix)[1], dtype="int32") == state.position
        masks = ops.any(here & (prefix != PADDING)) | ops.any(state.extras["no_repeat_ngram"] > 0)
        likeliest, masking = super().continuations, ("prefix", "no_repeat_ngram")
        without = {name: each for name, each in state.extras.items() if name not in masking}
        candidates = ops.cond(  # prefixes end soon, and masking is expensive
            masks,
            lambda: likeliest(state, logits),
            lambda: likeliest(state._replace(extras=without), logits),
        )
        newest, (tokens, scores) = candidates.newest, candidates.hypotheses
        rank = ops.arange(newest.shape[1], dtype="int32")
        allowed = (rank < 2 * beam) & ((rank < beam) | (newest != END))
        scores = ops.where(allowed, scores, IMPOSSIBLE)
        return candidates._replace(hypotheses=Hypotheses(tokens, scores))


class ConstrainedBeamSearchWithOptions(WithOptions, ConstrainedBeamSearch):
    """`ConstrainedBeamSearch` with options for each sentence. All have the widest beam."""


def first(hypotheses, count):
    """Returns `Hypotheses` without those beyond the first `count`, `[sentences, 1]`."""
    rank = ops.arange(hypotheses.scores.shape[1], dtype="int32")
    return hypotheses._replace(scores=ops.where(rank < count, hypotheses.scores, IMPOSSIBLE))
