"""Noise of Table 3: the variation of base's perplexity with the seed."""

import collections
import math
import statistics
from typing import NamedTuple


class Noise(NamedTuple):
    """Summary of the perplexities of base with different seeds."""

    seeds: int
    mean: float
    lowest: float
    highest: float


def bases_of(results):
    """Returns the results of the row `base`, one per seed."""
    return [each for each in results if each.row.split("-")[0] == "base"]


def noise_of(results):
    """Returns the `Noise` of base, or None if it has only one seed or a seed diverged."""
    found = [each.perplexity for each in bases_of(results)]
    if len(found) < 2 or not all(map(math.isfinite, found)):
        return None
    return Noise(len(found), statistics.mean(found), min(found), max(found))


def signs(results, noise, printed):
    """Compares each row's difference from base with the paper's; returns {row: `sign`}.

    Args:
        results: all `Result`s.
        noise: a `Noise`. If None, nothing is compared and the result is empty.
        printed: {row: the paper's perplexity}.
    """
    if noise is None:
        return {}
    return {
        each.row: sign(
            each.perplexity - noise.mean,
            round(printed[each.row] - printed["base"], 2),
            noise.highest - noise.lowest,
        )
        for each in results
        if each not in bases_of(results)
    }


def sign(ours, paper, noise):
    """Compares our difference from base with the paper's.

    Returns:
        "same", "opposite", "within noise" or "diverged". If the paper's difference is 0 and ours is
        within the noise, the result is "same".
    """
    if not math.isfinite(ours):
        return "diverged"
    if abs(ours) <= noise:
        return "within noise" if paper else "same"
    return "same" if ours * paper > 0 else "opposite"


def noise_notes(noise, verdicts):
    """Returns notes that describe the noise and count the signs; no notes if `noise` is None."""
    if noise is None:
        return []
    counts = collections.Counter(verdicts.values())
    return [
        f"Base, {noise.seeds} seeds: PPL {noise.mean:.3f} in the mean, from {noise.lowest:.3f} to "
        f"{noise.highest:.3f}. This spread is the noise; differences are from the mean. Of "
        f"{len(verdicts)} rows, {counts['same']} differ from base in the paper's direction, "
        f"{counts['opposite']} in the opposite one, {counts['within noise']} are within the noise, "
        f"and {counts['diverged']} diverged. (If the paper's difference is 0, one within the noise "
        "has its direction.) The other rows have one seed: with three seeds of base, one row in "
        "four without any effect would be beyond the noise.",
    ]
