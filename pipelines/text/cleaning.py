"""Decides which sentence pairs of a corpus are kept, by the rules of `cleaning_rules.py`.

Every dropped pair is counted for the rule that dropped it.
"""

import hashlib
import itertools
from typing import NamedTuple

import numpy as np

from pipelines.text.cleaning_config import CleaningConfig as CleaningConfig  # for users' configs
from pipelines.text.cleaning_rules import Pair, RuleError
from pipelines.text.normalization import CONTROL_CHARACTERS, Normalization

CHUNK = 10_000  # pairs processed together
# {change made to kept pairs: description of the change in the report}
CHANGES = {
    "nfc": "composed by NFC",
    "control_characters": "control characters removed",
    "replaced": "malformed UTF-8 replaced",
}


class Judged(NamedTuple):
    """The verdict of the rules for single pairs.

    Args:
        texts: the normalized source and target.
        rule: name of the rule that drops the pair, or None.
        changes: names of the changes made to a kept pair.
    """

    texts: tuple
    rule: str | None
    changes: frozenset = frozenset()


def clean(pairs, cleaning, counts, examples, seen=None, first=1):
    """Yields the pairs that are kept, as normalized strings.

    Args:
        pairs: an iterable of (source, target) in bytes, see `judge`.
        cleaning: a `Cleaning`.
        counts: a `collections.Counter` to update. Its keys are "read", "kept", the names in `RULES`
            for dropped pairs, and the names in `CHANGES` for kept pairs.
        examples: a `DroppedExamples` to update.
        seen: a `Seen` with the earlier pairs of the corpus, if any.
        first: number of the first pair in the corpus.
    """
    pairs, seen, rules = iter(pairs), Seen() if seen is None else seen, cleaning.rules()

    def drop(rule, texts):
        counts[rule] += 1
        examples.add(rule, texts)

    while chunk := list(itertools.islice(pairs, CHUNK)):
        numbered = enumerate(chunk, start=first + counts["read"])
        counts["read"] += len(chunk)
        kept = []
        for number, pair in numbered:
            judged = judge(pair, rules, cleaning.normalization, number)
            if judged.rule:
                drop(judged.rule, judged.texts)
            else:
                kept.append(judged)
        new = [True] * len(kept)
        if cleaning.config.duplicates and kept:
            new = seen.first_time(np.array([fingerprint(each.texts) for each in kept], "uint64"))
        for judged, is_new in zip(kept, new, strict=True):
            if not is_new:
                drop("duplicates", judged.texts)
        kept = list(itertools.compress(kept, new))
        counts["kept"] += len(kept)
        for judged in kept:
            counts.update(judged.changes)
            yield judged.texts


def judge(pair, rules, normalization, number=None):
    """Applies rules to a pair.

    Args:
        pair: (source, target) in bytes, possibly followed by whether its score is high enough.
        rules: the result of `Cleaning.rules`.
        normalization: the `Normalization` of every text.
        number: number of the pair in the corpus for messages, if known.

    Returns:
        A `Judged`.
    """
    decoded, is_utf8 = [], True
    for side in pair[:2]:
        try:
            decoded.append(side.decode("utf-8"))
        except UnicodeDecodeError:
            decoded.append(side.decode("utf-8", "replace"))
            is_utf8 = False
    texts = normalization(decoded[0]), normalization(decoded[1])
    properties = Pair(*texts, *sorted(map(len, texts)), is_utf8, *pair[2:])
    try:
        for name, drops, setting in rules:
            if drops(properties, setting):
                return Judged(texts, name)
    except RuleError as error:
        error.number = number
        raise
    changes = set() if is_utf8 else {"replaced"}
    for before, after in zip(decoded, texts, strict=True):
        if before != after:
            changes.update(changes_of(before, normalization))
    return Judged(texts, None, frozenset(changes))


def changes_of(text, normalization):
    """Yields the names of the changes that the normalization makes to a text."""
    if normalization.control_characters and CONTROL_CHARACTERS.search(text):
        yield "control_characters"
    if normalization.nfc and Normalization(nfc=False)(text) != Normalization()(text):
        yield "nfc"


def fingerprint(texts):
    """Returns a 64-bit hash of a pair.

    Among 36 million pairs, the probability that any two hashes collide is 1 in 30,000.
    """
    digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class Seen:
    """The set of all earlier fingerprints, each stored in eight bytes.

    Fingerprints are stored in sorted runs, each more than twice as long as the next. So there are
    few runs to search, and each fingerprint is merged only a few times.
    """

    def __init__(self):
        self.runs = []

    def first_time(self, fingerprints):
        """Returns a boolean array: whether each fingerprint occurs for the first time."""
        distinct, first = np.unique(fingerprints, return_index=True)
        new = np.zeros(len(fingerprints), bool)
        new[first] = True
        for run in self.runs:
            place = np.minimum(np.searchsorted(run, fingerprints), len(run) - 1)
            new &= run[place] != fingerprints
        self.runs.append(distinct)
        while len(self.runs) > 1 and 2 * len(self.runs[-1]) >= len(self.runs[-2]):
            merged = np.concatenate([self.runs.pop(), self.runs.pop()])
            self.runs.append(np.sort(merged))
        return new
