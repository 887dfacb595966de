"""BLEU by source length, which shows how translation quality depends on length."""

from typing import NamedTuple

from t2t_keras.evaluation.bleu import bleu, check_lines

ENDS = (5, 10, 15, 20, 25, 30, 40, 50, 75, 100)  # maximum source words in each group
ENOUGH = 10  # minimum number of lines for an interval; with fewer, it would be meaningless


class LengthGroup(NamedTuple):
    """BLEU of the lines with `first` to `last` source words."""

    first: int
    last: int | None  # None if there is no maximum length
    lines: int
    score: float
    interval: float | None  # None if not sampled, or if there are too few lines


def bleu_by_length(sources, hypotheses, references, samples=0, ends=ENDS):
    """Returns BLEU for groups of lines with similar numbers of source words.

    Args:
        sources, hypotheses, references: lists of texts.
        samples: bootstrap samples for the intervals. If 0, there are no intervals.
        ends: maximum source words in each group. A last group contains all longer lines.

    Returns:
        A list of `LengthGroup`s in ascending order, without empty groups.
    """
    check_lines(hypotheses, references)
    words = [len(source.split()) for source in sources]
    groups = []
    for first, last in zip((0, *(end + 1 for end in ends)), (*ends, None), strict=True):
        members = [i for i, n in enumerate(words) if first <= n and (last is None or n <= last)]
        if members:
            texts = ([lines[i] for i in members] for lines in (hypotheses, references))
            score = bleu(*texts, samples=samples if len(members) >= ENOUGH else 0)
            groups.append(LengthGroup(first, last, len(members), score.score, score.interval))
    return groups
