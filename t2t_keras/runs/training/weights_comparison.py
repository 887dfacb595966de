"""Comparison of a run's weights at the end of training, as recorded with the averaged weights."""

from typing import NamedTuple

SIGNIFICANT = 0.05


class Compared(NamedTuple):
    """Weights that took part in a comparison.

    Args:
        name: "averaged", "newest" or "best".
        weights: the weights in the run: "averaged", or the step of a checkpoint.
        bleu: BLEU with these weights.
        p_value: p-value for the null hypothesis that they are as good as the averaged weights.
            None for the averaged weights.
    """

    name: str
    weights: str
    bleu: float
    p_value: float | None

    def __str__(self):
        if self.p_value is None:
            return f"{self.name} {self.bleu:.1f}"
        return f"{self.name} (step {int(self.weights):,}) {self.bleu:.1f} (p = {self.p_value:.3f})"


def best_of(compared):
    """Returns the best of the weights that are significantly better than the averaged weights.

    Args:
        compared: a list of `Compared`, the averaged weights first. The averaged weights are
            returned if no others are significantly better.
    """
    averaged, *others = compared
    better = [each for each in others if each.bleu > averaged.bleu and each.p_value < SIGNIFICANT]
    return max(better, key=lambda each: each.bleu, default=averaged)


def comparison_text(record):
    """Describes the comparison in a record of averaged weights. Returns None if it has none."""
    if "compared" not in record:
        return None
    compared = [Compared(**each) for each in record["compared"]]
    (chosen,) = (each.name for each in compared if each.weights == record["chosen"])
    name, lines = record["compared_on"]["set"], record["compared_on"]["lines"]
    of = f" of {name}" if name else ""
    return (
        f"BLEU on {lines:,} held-out lines{of}: {', '.join(map(str, compared))}. Chosen: {chosen}"
    )
