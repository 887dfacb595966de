"""Beam search for translations that contain given phrases: lexically constrained decoding.

Post and Vilar 2018 (arXiv 1804.06609); Hu et al. 2019 (NAACL, N19-1090). The candidates of a step
are the most likely continuations of all live hypotheses, the most likely continuation of each, and
all tokens that continue or begin a missing phrase. `beam_allocation.py` chooses among them.

The end token is forbidden as long as a phrase is missing. Any other token is forbidden if the
missing phrases would no longer fit before the deadline. The deadline is the source length plus the
lengths of the phrases; the limit of the sentence is raised by the same lengths. So every hypothesis
contains all phrases. Scores include no bonus for phrases.
"""

import numpy as np

from t2t_keras.decoding.beam_search import BeamSearch, Candidates
from t2t_keras.decoding.constraints import IMPOSSIBLE, id_mask, next_tokens
from t2t_keras.decoding.phrases import phrase_progress
from t2t_keras.decoding.phrases.beam_allocation import allocated
from t2t_keras.decoding.phrases.phrase_progress import PhraseProgress, lengths_of
from t2t_keras.decoding.rows import END, PADDING, Hypotheses, length_limits
from t2t_keras.ops import ops


class ConstrainedBeamSearch(BeamSearch):
    """Beam search with phrases; see `decoding/search.py` for how its methods are called.

    `start` takes `extras["phrases"]`: ids `[sentences, phrases, length]`, padded at the end.
    Phrases that consist of padding are ignored. Phrases must not contain banned ids. For a sentence
    without phrases, the search is equivalent to `BeamSearch`. All sentences use the widest beam.

    Args:
        model: a `Transformer` or an `Ensemble`.
        config: a `SearchConfig` that does not sample.
        follows: booleans `[vocabulary]`: whether a token may follow a phrase, because it does not
            continue the phrase's last word. This must be true for the first token of every phrase.
            If None, all tokens may follow.
    """

    def __init__(self, model, config, follows=None):
        super().__init__(model, config)
        self.follows = follows

    def start(self, source, room, longest=None, extras=None):
        extras = {name: value for name, value in extras.items() if name != "beam"}
        phrases = phrase_progress.phrases_of(extras["phrases"])
        limits, deadlines = length_limits(source, None, self.config), lengths_of(source)
        if "prefix" in extras:
            prefix = lengths_of(extras["prefix"])
            limits, deadlines = (ops.maximum(x, prefix) for x in (limits, deadlines))
        required = ops.sum(phrases.lengths, axis=1)
        limits, deadlines = (x + required for x in (limits, ops.minimum(limits, deadlines)))
        limits = limits if longest is None else ops.minimum(limits, longest)
        extras["phrases"] = phrases
        extras["progress"] = phrase_progress.no_progress(phrases, self.config.beam)
        extras["deadlines"] = ops.minimum(limits, deadlines)
        return super().start(source, room, longest, extras)._replace(limits=limits)

    def continuations(self, state, logits):
        """Returns `Candidates`: first the hypotheses that end, then the next live hypotheses."""
        beam, phrases = self.config.beam, state.extras["phrases"]
        scores, newest, parents, likely = self.next_tokens(state, logits)
        follows = True if self.follows is None else self.follows
        follows = np.broadcast_to(follows, logits.shape[-1:])
        progress = PhraseProgress(*(ops.take(x, parents, axis=1) for x in state.extras["progress"]))
        progress = phrase_progress.advanced(phrases, progress, newest, follows)
        missing = phrase_progress.remaining(phrases, progress, follows)
        room = state.extras["deadlines"][:, None] - state.position - 1
        allowed = (missing == 0) | ((newest != END) & (missing <= room))
        scores = ops.where(allowed, scores, IMPOSSIBLE)

        complete, ended = ops.top_k(ops.where(missing == 0, scores, IMPOSSIBLE), beam)
        ends = ops.take_along_axis(newest, ended, axis=1) == END
        complete = ops.where(ends, complete, IMPOSSIBLE)
        scores = ops.where(newest == END, IMPOSSIBLE, scores)
        going = allocated(scores, missing, beam, likely)
        chosen = ops.concatenate([ended, going], axis=1)
        scores = ops.concatenate([complete, ops.take_along_axis(scores, going, axis=1)], axis=1)
        parents, newest = ops.take(parents, chosen), ops.take_along_axis(newest, chosen, axis=1)
        hypotheses = Hypotheses(self.continued(state, parents, newest), scores)
        progress = (ops.take_along_axis(x, chosen[..., None], axis=1) for x in progress)
        extras = {"progress": PhraseProgress(*progress)}
        return Candidates(hypotheses, parents, newest, True, extras)

    def next_tokens(self, state, logits):
        """Returns the candidates of a step.

        These are log P and token, `[sentences, candidates]`; the index of the continued live
        hypothesis, `[candidates]`; and the number of most likely continuations, which precede the
        phrase tokens.
        """
        beam, live = self.config.beam, state.live
        log_p, likely = next_tokens(self, logits, 2 * beam, live.tokens, state)
        # Without a prefix, `next_tokens` returns two more tokens, which would change the choice.
        rank = ops.cumsum(ops.cast(log_p > IMPOSSIBLE, "int32"), axis=-1)
        log_p = ops.where(rank <= 2 * beam, log_p, IMPOSSIBLE)
        phrase_log_p, needed = self.phrase_tokens(state, logits)
        known = (likely[:, :, None] == needed[..., None]) & (log_p > IMPOSSIBLE)[:, :, None]
        phrase_log_p = ops.where(ops.any(known, axis=-1), IMPOSSIBLE, phrase_log_p)
        scores = [each + live.scores[..., None] for each in (log_p, phrase_log_p)]
        each = ops.arange(beam, dtype="int32")
        parents = [ops.repeat(each, ops.shape(ids)[2]) for ids in (likely, needed)]
        sentences = ops.shape(live.tokens)[0]
        scores, ids = (
            ops.concatenate([ops.reshape(x, (sentences, -1)) for x in parts], axis=1)
            for parts in (scores, (likely, needed))
        )
        return scores, ids, ops.concatenate(parents), beam * likely.shape[2]

    def phrase_tokens(self, state, logits):
        """Returns log P and ids of tokens that continue or begin a missing phrase.

        These tokens may repeat n-grams. Duplicates in the list, and tokens that the prefix forbids,
        get log P −∞.
        """
        ids = phrase_progress.next_tokens_of(state.extras["phrases"], state.extras["progress"])
        normalizer = ops.logsumexp(logits, axis=-1, keepdims=True)
        log_p = ops.take_along_axis(logits, ids, axis=2) - normalizer
        index = ops.arange(ops.shape(ids)[2], dtype="int32")
        again = (ids[:, :, None] == ids[..., None]) & (index < index[:, None])
        allowed = (ids != PADDING) & ~ops.any(again, axis=-1)
        if self.config.first:
            first = ops.take(id_mask(self.config.first, logits.shape[-1]), ids)
            allowed = allowed & ((state.position > 0) | first)
        if "prefix" in state.extras:
            lengths = lengths_of(state.extras["prefix"])
            allowed = allowed & (state.position >= lengths)[:, None, None]
        return ops.where(allowed, log_p, IMPOSSIBLE), ids
