"""Drops bad translations: empty, repetitive, or of an unexpected length.

Decoders that lose their way repeat a phrase, or stop too soon. Bad translations that look normal
are found by a model for the other direction: `write_scores` turns its log P of the sources into the
scores by which t2t-prepare keeps the best pairs. It is that model's log P alone, per piece, because
the teacher finds its own translations likely, whether or not they are right.
"""

import array
import contextlib
import itertools
import re
import statistics
from collections import Counter
from pathlib import Path

from pipelines.atomic_files import atomic_file, write_json
from pipelines.progress import Progress
from pipelines.text.cleaned_text import DroppedExamples
from pipelines.text.noise import is_repetitive
from pipelines.text.normalization import Normalization

REASONS = {
    "empty": "without a translation",
    "repetitions": "repetitive translation",
    "ratio": "translation of an unexpected length",
}
# In ASCII, Latin-1, and the blocks of general and of Chinese and Japanese punctuation.
PUNCTUATION = re.compile("[!-/:-@\\[-`{-~¡-¿‐-⁞、-〿！-／]+")
FLOOR = 20  # characters; shorter texts count as this long
MEASURED = 1_000_000  # maximum number of pairs for measuring the median ratio


class Filter:
    """The rules for single pairs.

    Args:
        median: median ratio of the lengths of translations and sources, in characters.
        ratio, repetitions: see `DistillationPlan`.
    """

    def __init__(self, median, ratio, repetitions):
        self.median, self.ratio, self.repetitions = median, ratio, repetitions

    def reason(self, source, translation):
        """Returns the name in `REASONS` of the rule that drops a pair, or None."""
        if not translation:
            return "empty"
        if self.repetitions and self.repeats(translation) and not self.repeats(source):
            return "repetitions"
        shorter, longer = sorted((len(translation), self.median * len(source)))
        return "ratio" if self.ratio and longer > self.ratio * max(shorter, FLOOR) else None

    def repeats(self, text):
        """Returns whether a text repeats a phrase too often, ignoring case and punctuation."""
        words = PUNCTUATION.sub(" ", text.casefold()).split()
        return is_repetitive(" ".join(words), self.repetitions)


def filter_pairs(parts, folder, ratio, repetitions):
    """Writes the pairs that are kept to `pairs.tsv`, and counts and examples to `filter.json`.

    Args:
        parts: list of (source file, file of translations), which have the same number of lines.
        folder: output folder.
        ratio, repetitions: see `DistillationPlan`.

    Returns:
        The counts: "read", "kept", and the names in `REASONS`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sample = itertools.islice(pairs_in(parts), MEASURED)
    ratios = array.array("d", (len(target) / len(source) for source, target in sample if target))
    median = statistics.median(ratios) if ratios else 1.0
    rules, counts, examples = Filter(median, ratio, repetitions), Counter(), DroppedExamples()
    with contextlib.ExitStack() as files:
        kept = files.enter_context(atomic_file(folder / "pairs.tsv"))
        progress = files.enter_context(Progress("filtering", unit="pairs"))
        progress.to(0)
        for source, translation in pairs_in(parts):
            counts["read"] += 1
            if reason := rules.reason(source, translation):
                counts[reason] += 1
                examples.add(reason, (source, translation))
                continue
            counts["kept"] += 1
            kept.write(f"{source}\t{translation}\n".encode())
            progress.to(counts["read"])
        if not counts["kept"]:
            raise ValueError(no_text_left(counts))
    facts = {"counts": dict(counts), "median_ratio": median, "examples": examples.pairs()}
    write_json(folder / "filter.json", facts)
    return counts


def exchange_sides(pairs, output):
    """Writes the pairs of a file with their sides exchanged."""
    with open(pairs, "rb") as lines, atomic_file(output) as file:
        for line in lines:
            source, _, translation = line.rstrip(b"\n").partition(b"\t")
            file.write(b"%s\t%s\n" % (translation, source))


def pairs_in(parts):
    """Yields (source, translation) of all parts. Translations are normalized."""
    normalization = Normalization(nfc=False)
    for names in parts:
        with contextlib.ExitStack() as files:
            sides = [
                files.enter_context(open(name, encoding="utf-8", newline="\n")) for name in names
            ]
            missing = object()
            for source, translation in itertools.zip_longest(*sides, fillvalue=missing):
                if missing in (source, translation):
                    raise ValueError(
                        f"{names[1]} must have one line for each line of {names[0]}. Delete it "
                        "and run the same command again"
                    )
                yield source.rstrip("\n"), normalization(translation)


def no_text_left(counts):
    """Returns the message for the case that all pairs were dropped."""
    if not counts["read"]:
        return "There is no text to translate: neither --data nor --mono has a usable line"
    return (
        f"No text is left: all {counts['read']:,} translations were dropped "
        f"({dropped_text(counts)}). Try the teacher with t2t-translate, or change --ratio and "
        "--repetitions"
    )


def dropped_text(counts):
    """Returns the number of pairs dropped for each reason, as text."""
    found = [f"{counts[name]:,} {text}" for name, text in REASONS.items() if counts.get(name)]
    return ", ".join(found) or "nothing"


def write_scores(scored, output):
    """Writes log P per piece of each line of t2t-score, as scores for t2t-prepare.

    Args:
        scored: file with the columns log P, perplexity, and number of pieces.
        output: the file to write.
    """
    with (
        open(scored, encoding="utf-8", newline="\n") as lines,
        atomic_file(output) as file,
    ):
        for line in lines:
            log_p, _, pieces = line.split("\t")
            file.write(f"{float(log_p) / int(pieces):.6f}\n".encode())
