"""The section of a report on the confidence of words."""

import io

from t2t_keras.visualization.document import folded, paragraph, picture, section, table
from t2t_keras.visualization.panels import Panel, draw_panels


def confidence(calibration):
    """Returns the section on the calibration of a test set's words.

    Args:
        calibration: a `Calibration`.
    """
    file = io.BytesIO()
    draw_panels(file, panels(calibration.bins), (5.5, 3.6))
    return section(
        "Confidence",
        paragraph(
            "The confidence of a word is the smallest probability that the model gives to one of "
            "its pieces. If it is well calibrated, of the words with a confidence of 70 % about "
            "70 % are right: the points lie on the diagonal. Points below it mean too much "
            "confidence, points above it too little."
        ),
        paragraph(
            "The expected calibration error, the mean distance of a word's point from the "
            f"diagonal, is {100 * calibration.error:.1f} % on {calibration.words:,} words."
        ),
        picture(file.getvalue(), "Share of right words and number of words over the confidence"),
        paragraph(
            "A word counts as right if its reference has it, at most as often as the reference has "
            "it. A right translation in different words counts as wrong, so the true shares are "
            "higher.",
            class_="note",
        ),
        folded("Table", bins_table(calibration.bins)),
    )


def panels(bins):
    ends = [(100 * each.low, 100 * each.high) for each in bins]
    shares = {100 * each.confidence: 100 * each.right for each in bins}
    lines = {"calibrated": {0: 0, 100: 100}, "measured": shares}
    bars = [(*end, 100 * each.right) for end, each in zip(ends, bins, strict=True)]
    counts = [(*end, each.words) for end, each in zip(ends, bins, strict=True)]
    return [
        Panel("share of right words, %", lines, "confidence, %", bars=bars),
        Panel("number of words", {}, "confidence, %", bars=counts),
    ]


def bins_table(bins):
    rows = [
        [
            f"{each.low:.0%} to {each.high:.0%}",
            f"{each.words:,}",
            f"{each.confidence:.1%}",
            f"{each.right:.1%}",
        ]
        for each in bins
    ]
    return table(["confidence", "words", "mean", "right"], rows, numbers=(1, 2, 3))
