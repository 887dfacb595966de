"""Estimates how long the translations take, which is most of the time of a distillation."""

import itertools
import re

from pipelines.atomic_files import atomic_file, unfinished_name
from pipelines.progress import duration

SAMPLE = 64  # sentences that are translated to measure the speed
FEWEST = 20 * SAMPLE  # with fewer sentences, no estimate is worth its time


def estimate(stages, parts):
    """Reports an estimate of the time for translations that have not begun.

    The speed is that of evenly spaced sentences, translated with the same flags. Loading the model
    does not count.

    Args:
        stages: `Stages` that report the estimate and have the folder for the sample.
        parts: a list of (name, text file, its number of lines, file of the translations, flags of
            t2t-translate).
    """
    for name, text, lines, output, flags in parts:
        if lines < FEWEST or output.exists() or unfinished_name(output).exists():
            continue
        sample = stages.folder / f"sample-{name}.txt"
        translated = sample.with_suffix(".out")
        with open(text, "rb") as file, atomic_file(sample) as written:
            written.writelines(
                itertools.islice(file, 0, SAMPLE * (lines // SAMPLE), lines // SAMPLE)
            )
        log = stages.folder / "logs" / f"estimate-{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        files = [f"--input={sample}", f"--output={translated}"]
        message = stages.run(f"estimate-{name}", "translate", [*flags, *files], log)
        for path in (sample, translated):
            path.unlink(missing_ok=True)
        if rate := rate_in(message):
            stages.report(
                f"translating {lines:,} sentences ({name}) will take about "
                f"{duration(lines / rate)}, at {rate:,.3g} sentences per second on this machine, "
                f"measured on {SAMPLE}. Filtering, training and evaluation come later"
            )


def rate_in(message):
    """Returns the rate in a line of `Progress`, or None.

    >>> rate_in("translating: 64 of 64 lines (100%), 1,052/s, 0:00:01")
    1052.0
    """
    found = re.search(r", ([\d.,]+)/s", message)
    return float(found[1].replace(",", "")) if found else None
