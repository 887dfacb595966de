"""Greedy search with a draft: several tokens for one step of the model.

The paper's last sentence is "Making generation less sequential is another research goals of ours".
Here, a small model, the draft, proposes the next k tokens. The model computes the probabilities
after all of them in one step, which takes little longer than a step for one token. It keeps the
proposals up to the first that is not its own most likely token, and adds its own token there. So
every token is the one that greedy search chooses.

If the model agrees with a proposal with probability a, a step yields on average

    1 + a + a² + … + aᵏ = (1 − aᵏ⁺¹) / (1 − a)

tokens (Leviathan et al. 2023, arXiv 2211.17192, equation 1). If a step of the draft costs c times
as much as a step of the model, this is

    (1 − aᵏ⁺¹) / ((1 − a) (1 + k c))

times as fast as greedy search. `Draft` chooses the best k for the agreement seen so far in the
sentence. It measures no time, so that a sentence always has the same proposals. With int8 weights,
a step for several tokens may be rounded differently, which changes a few translations.
"""

import numpy as np

from t2t_keras.decoding.batches import stacked
from t2t_keras.decoding.rows import BEGIN, END, Hypotheses, length_penalty
from t2t_keras.ops import on_numpy

PRIOR = 0.8  # a at the start of a sentence
SLOWLY = 0.9  # share of the earlier estimate of a, after one more token
CHEAPEST = 0.1  # least estimate of c


class Draft:
    """Proposes tokens, and counts how many of them were accepted.

    Args:
        model: the small model, see `drafted_search`.
        most: maximum number of proposals for one step.
        size: size of the small model, relative to the model that checks.
        longest: maximum length of a sequence of the small model. None: no maximum.
    """

    def __init__(self, model, most, size=0.0, longest=None):
        self.model, self.most, self.longest = model, most, longest
        self.cost = max(size, CHEAPEST)  # c
        self.proposed = self.accepted = 0

    def __str__(self):
        if not self.proposed:
            return "the draft proposed no tokens: it had too many lines at a time, or is too large"
        share = f"{self.accepted / self.proposed:.0%} of {self.proposed:,}"
        return f"the model accepted {share} tokens that the draft proposed"

    def count(self, agreement):
        """Returns k, the number of proposals with which the search is expected to be fastest."""
        k = np.arange(self.most + 1)
        return int(np.argmax((1 - agreement ** (k + 1)) / (1 + k * self.cost)))

    def learn(self, agreement, proposed, accepted):
        """Counts the proposals of one step; returns the new estimate of a."""
        self.proposed, self.accepted = self.proposed + proposed, self.accepted + accepted
        seen = min(accepted + 1, proposed)  # proposals after the first wrong one prove nothing
        share = SLOWLY**seen
        return share * agreement + (1 - share) * min(accepted / max(seen, 1), 0.99)


def drafted(model, draft, config, source, longest=None):
    """Returns the `Hypotheses` of sentences, one after the other; see `drafted_search`."""
    found = [drafted_search(model, draft, config, row[None], longest) for row in source]
    return Hypotheses(*(stacked([part[0] for part in parts]) for parts in zip(*found, strict=True)))


def drafted_search(model, draft, config, source, longest=None):
    """Returns the `Hypotheses` of one sentence, with the tokens that greedy search finds.

    Args:
        model: has the method `reader(source, room, steps)`. This returns a function of up to
            `steps` tokens and the position of the first of them, which returns log P and id of the
            most likely token after each of them. Tokens that it read earlier at these and later
            positions are forgotten.
        draft: a `Draft`. Its model has the same method.
        config: a `SearchConfig` of greedy search.
        source: ids `[1, length]`.
        longest: maximum length of an output. None: no maximum.
    """
    limit = np.count_nonzero(source) + config.extra_length
    limit = limit if longest is None else min(limit, longest)
    read = model.reader(source, limit, draft.most + 1)
    propose = draft.model.reader(source, limit, 1)
    tokens, score, agreement = [BEGIN], np.float32(0), PRIOR
    known = 0  # tokens that the draft has read
    while len(tokens) <= limit and tokens[-1] != END:
        position, proposals = len(tokens) - 1, []
        for _ in range(min(draft.count(agreement), limit - len(tokens))):
            for token in (tokens + proposals)[known:]:
                _, (best,) = propose([token], known)
                known += 1
            proposals.append(int(best))
            if best == END:
                break
        log_p, ids = read([tokens[-1], *proposals], position)
        ids = ids.tolist()
        agreed = 0
        while agreed < len(proposals) and proposals[agreed] == ids[agreed]:
            agreed += 1
        new = ids[: agreed + 1]
        if END in new:
            new = new[: new.index(END) + 1]
        for each in log_p[: len(new)]:
            score += each
        tokens += new
        known = min(known, position + 1 + agreed)
        agreement = draft.learn(agreement, len(proposals), agreed)
    found = tokens[1:]
    with on_numpy():
        score = score / length_penalty(np.array([len(found)]), config)
    return Hypotheses(np.array([[found]], "int32"), np.array([score], "float32"))
