"""BLEU of short and of long sentences: where a model begins to lose the thread."""

from typing import NamedTuple

from t2t_keras.evaluation.bleu import bleu, check_lines

ENDS = (5, 10, 15, 20, 25, 30, 40, 50, 75, 100)  # words of the longest source of each group
ENOUGH = 10  # lines: fewer say nothing about how far a score may be off


class LengthGroup(NamedTuple):
    """The score of the sentences whose sources have so many words."""

    first: int
    last: int | None  # None: however many
    lines: int
    score: float
    interval: float | None  # None: too few lines


def bleu_by_length(sources, hypotheses, references, samples=0, ends=ENDS):
    """BLEU of the lines, grouped by the words of their source; groups without a line are left out.

    Args:
        sources, hypotheses, references: lists of texts.
        samples: how often lines are drawn anew for the intervals. 0: no intervals.
        ends: the most words of each group; behind the last stands one more for all the rest.

    Returns:
        A list of `LengthGroup`s, the short ones first.
    """
    check_lines(hypotheses, references)
    words = [len(source.split()) for source in sources]
    found = []
    for first, last in zip((0, *(end + 1 for end in ends)), (*ends, None), strict=True):
        of_group = [i for i, n in enumerate(words) if first <= n and (last is None or n <= last)]
        if of_group:
            texts = ([lines[i] for i in of_group] for lines in (hypotheses, references))
            score = bleu(*texts, samples=samples if len(of_group) >= ENOUGH else 0)
            found.append(LengthGroup(first, last, len(of_group), score.score, score.interval))
    return found
