"""Dynamic beam allocation (Post and Vilar 2018, arXiv 1804.06609; Hu et al. 2019).

Required phrases lower the probability of a hypothesis. So hypotheses that contain more of the
phrases do not compete with hypotheses that contain fewer. Hypotheses with the same number of
missing tokens form a bank, and every bank gets a share of the beam: first the best hypothesis of
each bank, then the second best, and so on.

If there are more banks than places, hypotheses with the highest log P − `TOKEN_COST` × missing
tokens are preferred.
"""

from t2t_keras.decoding.constraints import IMPOSSIBLE, number_of
from t2t_keras.ops import ops

TOKEN_COST = 3.0  # assumed −log P of a missing token


def allocated(scores, missing, beam, likely):
    """Returns the indices of the next live hypotheses, `[sentences, beam]`.

    `scores` (log P, −∞ for missing candidates) and `missing` (number of missing tokens) are
    `[sentences, candidates]`. The first `likely` candidates continue the live hypotheses: the same
    number for each, in descending order. The rest are phrase tokens.
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
    """Returns the indices of the candidates to consider; arguments as in `allocated`.

    These are the best continuation of each hypothesis, the 2 · beam best other continuations, and
    all phrase tokens.
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
