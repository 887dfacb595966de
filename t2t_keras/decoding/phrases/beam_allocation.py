"""Dynamic beam allocation (Post and Vilar 2018, arXiv 1804.06609; Hu et al. 2019).

Hypotheses with more of their phrases are less likely, because phrases cost probability. So they do
not compete with those that have fewer. Hypotheses that lack the same number of tokens form a bank,
and every bank gets its share of the beam: first the best of each bank, then the second best, ….

If there are more banks than places, those are preferred whose hypothesis would be the most likely
one if each missing token cost `TOKEN_COST`.
"""

from t2t_keras.decoding.constraints import IMPOSSIBLE
from t2t_keras.ops import ops

TOKEN_COST = 3.0  # −log P of a missing token


def allocated(scores, missing, beam, likely):
    """Returns the indices of the next live hypotheses, `[sentences, beam]`.

    Args:
        scores: log P of the candidates of each sentence, −∞ for none: `[sentences, candidates]`.
            Tokens of phrases come last. Before them are equally many continuations of each live
            hypothesis, in descending order.
        missing: number of missing tokens, `[sentences, candidates]`.
        beam: beam width.
        likely: number of candidates before the tokens of phrases.
    """
    considered = shortlist(scores, beam, likely)
    scores, missing = (ops.take_along_axis(x, considered, axis=1) for x in (scores, missing))
    same_bank = missing[:, :, None] == missing[:, None]
    rank = number_of(same_bank & precedes(scores))
    rank = ops.where(scores > IMPOSSIBLE, rank, ops.shape(scores)[1])
    value = scores - TOKEN_COST * ops.cast(missing, scores.dtype)
    same_rank = rank[:, :, None] == rank[:, None]
    place = number_of((rank[:, None] < rank[:, :, None]) | (same_rank & precedes(value)))
    _, chosen = ops.top_k(-place, beam)
    return ops.take_along_axis(considered, chosen, axis=1)


def shortlist(scores, beam, likely):
    """Returns the indices of the candidates that are considered; arguments as for `allocated`.

    They are the best continuation of each hypothesis, the 2 · beam best others, and all tokens of
    phrases.
    """
    by_hypothesis = ops.reshape(scores[:, :likely], (-1, beam, likely // beam))
    possible = ops.cast(by_hypothesis > IMPOSSIBLE, "int32")
    first = (possible == 1) & (ops.cumsum(possible, axis=-1) == 1)
    order = ops.reshape(ops.where(first, 1.0, by_hypothesis), (-1, likely))  # log P is at most 0
    _, best = ops.top_k(order, min(3 * beam, likely))
    phrases = ops.arange(likely, ops.shape(scores)[1], dtype="int32")
    phrases = ops.broadcast_to(phrases, (ops.shape(scores)[0], ops.shape(phrases)[0]))
    return ops.concatenate([ops.cast(best, "int32"), phrases], axis=1)


def precedes(values):
    """Returns whether candidate j comes before candidate i in descending order: `[…, i, j]`."""
    index = ops.arange(ops.shape(values)[1], dtype="int32")
    theirs, own = values[:, None], values[:, :, None]
    return (theirs > own) | ((theirs == own) & (index < index[:, None]))


def number_of(booleans):
    return ops.sum(ops.cast(booleans, "int32"), axis=-1)
