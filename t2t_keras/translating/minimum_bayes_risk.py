"""Minimum Bayes risk: chooses the candidate with the largest expected utility.

The candidates of a sentence are samples (Eikema and Aziz 2020) or the n best translations of beam
search. The expected utility of a candidate is the mean of a metric with each candidate, itself
included, as the reference. A translation that was drawn twice counts twice.
"""

import collections
from typing import Any, NamedTuple

from t2t_keras.checks import check
from t2t_keras.decoding.search import METHODS
from t2t_keras.evaluation.pairwise import pairwise

NEXT_ROW = 2**32  # added to the index that selects the random numbers of a sentence's next row


class MinimumBayesRisk(NamedTuple):
    """How to choose the translations of a text's sentences."""

    count: int  # maximum number of translations to return
    utilities: Any  # see `pairwise`

    def best(self, candidates, source):
        """Returns the best `Translation`s of a source; their scores are expected utilities."""
        counts = collections.Counter(each.text for each in candidates)
        scores = self.utilities([*counts], source) @ [*counts.values()] / len(candidates)
        utility = dict(zip(counts, scores.tolist(), strict=True))
        first = {each.text: each for each in reversed(candidates)}
        best = sorted(utility, key=lambda text: -utility[text])[: self.count]
        return [first[text]._replace(score=utility[text]) for text in best]


def search_of(request, config):
    """Returns the changes of a `Request` to a `SearchConfig`, and `Text.rows` and `Text.risk`."""
    changes, count, rows = request.search(), request.mbr, 1
    if not count:
        return changes, rows, None
    results, beam = (changes.get(name, getattr(config, name)) for name in ("n_best", "beam"))
    check(results <= count, "n_best", results, f"at most the number of candidates, mbr={count}")
    if getattr(METHODS.get(changes.get("method", config.method)), "draws", False):
        # Rows as wide as the beam fit into a batch, and into the programs of LiteRT.
        rows, count = -(-count // beam), beam
    allowed = f"at most the beam width, beam={beam}, except with --sample"
    check(count <= beam, "mbr", count, allowed)
    utilities = pairwise(request.mbr_metric or "chrf", request.comet_model)
    return changes | {"n_best": count}, rows, MinimumBayesRisk(results, utilities)


def best_of_parts(texts, jobs, results):
    """Returns (job, the best `Translation`s) of each part, given the `Translation`s of each job."""
    parts = []
    for job, found in zip(jobs, results, strict=True):
        if job.draw:  # a further row of the same part
            parts[-1][1].extend(found)
        else:
            parts.append((job, [*found]))
    return [(job, texts[job.text_index].best(job.ids, found)) for job, found in parts]
