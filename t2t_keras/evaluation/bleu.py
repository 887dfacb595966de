"""BLEU as it is compared between papers: sacreBLEU, with its signature."""

from typing import NamedTuple

import sacrebleu


class Score(NamedTuple):
    """A score and how it was computed."""

    score: float
    signature: str
    lines: int


def bleu(hypotheses, references):
    """sacreBLEU of one system with one reference a line: 13a tokenisation, cased."""
    if len(hypotheses) != len(references):
        raise ValueError(
            "Hypotheses and references must have the same number of lines. Received: "
            f"{len(hypotheses):,} and {len(references):,}"
        )
    metric = sacrebleu.BLEU()
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(result.score, str(metric.get_signature()), len(references))
