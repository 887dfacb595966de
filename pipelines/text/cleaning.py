"""The rules that decide which sentence pairs are kept.

Every dropped pair is counted for the rule that dropped it. To add a rule, add a field to
`CleaningConfig` and an entry to `RULES`.
"""

import dataclasses
import hashlib
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pipelines.text.normalization import CONTROL_CHARACTERS, Normalization

CHUNK = 10_000  # pairs processed together


@dataclasses.dataclass
class CleaningConfig:
    """The cleaning rules. Each can be turned off separately.

    Args:
        nfc: compose characters (Unicode NFC).
        control_characters: remove control characters.
        empty: drop pairs with an empty side.
        invalid_utf8: drop pairs that are not UTF-8. If off, malformed bytes become U+FFFD.
        identical: drop pairs with two equal sides, which are untranslated.
        duplicates: drop pairs that occurred earlier in the corpus.
        max_characters: drop pairs with a side longer than this. 0: off.
        max_ratio: drop pairs with one side more than this many times as long as the other, in
            characters. A shorter side of fewer than 20 characters counts as 20. 0: off.
    """

    nfc: bool = True
    control_characters: bool = True
    empty: bool = True
    invalid_utf8: bool = True
    identical: bool = True
    duplicates: bool = True
    max_characters: int = 2000
    max_ratio: float = 4.0

    def validate(self):
        """Raises `ValueError` for the first wrong setting."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is bool:
                valid = isinstance(value, bool)
            else:
                valid = isinstance(value, int | float) and not isinstance(value, bool)
                valid = valid and (value == 0 or value >= 1)
            if not valid:
                allowed = "True or False" if field.type is bool else "0 (off) or at least 1"
                raise ValueError(
                    f"`{field.name}` must be {allowed}. Received: {field.name}={value!r}"
                )

    def normalization(self):
        """Returns the `Normalization` that the tokenizer applies to every text."""
        return Normalization(nfc=self.nfc, control_characters=self.control_characters)


class Pair(NamedTuple):
    """A normalized sentence pair, with the properties that the rules test."""

    source: str
    target: str
    shorter: int  # length of the shorter side, in characters
    longer: int  # length of the longer side, in characters
    is_utf8: bool  # whether both sides were valid UTF-8


class Rule(NamedTuple):
    """A rule that drops pairs.

    Args:
        name: the field of `CleaningConfig` that turns the rule on, and the key of its count.
        reason: description of the dropped pairs in the report.
        drops: function of (`Pair`, setting) that returns whether to drop the pair. None for the
            rule that compares pairs with each other, see `Seen`.
    """

    name: str
    reason: str
    drops: Callable | None


# In order of application. A pair is counted for the first rule that drops it.
RULES = (
    Rule("invalid_utf8", "not UTF-8", lambda pair, _: not pair.is_utf8),
    Rule("empty", "empty side", lambda pair, _: not pair.shorter),
    Rule("max_characters", "too long", lambda pair, limit: pair.longer > limit),
    Rule(
        "max_ratio",
        "lengths too different",
        lambda pair, limit: pair.longer > limit * max(pair.shorter, 20),
    ),
    Rule("identical", "source = target", lambda pair, _: pair.source == pair.target),
    Rule("duplicates", "duplicates", None),
)
# {change made to kept pairs: description of the change in the report}
CHANGES = {
    "nfc": "composed by NFC",
    "control_characters": "control characters removed",
    "replaced": "malformed UTF-8 replaced",
}
# {former name of a count: current name}. Data prepared by earlier versions has former names.
FORMER_NAMES = {"too_long": "max_characters", "ratio": "max_ratio", "duplicate": "duplicates"}


def clean(pairs, config, counts, seen=None, normalization=None):
    """Yields the pairs that are kept, as normalized strings.

    Args:
        pairs: an iterable of (source, target) in bytes.
        config: a `CleaningConfig`.
        counts: a `collections.Counter` to update. Its keys are "read", "kept", the names in `RULES`
            for dropped pairs, and the names in `CHANGES` for kept pairs.
        seen: a `Seen` with the earlier pairs of the corpus, if any.
        normalization: the `Normalization` of an existing tokenizer. If None, the config's.
    """
    pairs, seen, rules = iter(pairs), Seen() if seen is None else seen, active_rules(config)
    normalization = config.normalization() if normalization is None else normalization
    while chunk := list(itertools.islice(pairs, CHUNK)):
        counts["read"] += len(chunk)
        judged = [judge(*pair, rules, normalization, counts) for pair in chunk]
        kept = [texts_and_changes for texts_and_changes in judged if texts_and_changes]
        if config.duplicates and kept:
            new = seen.first_time(np.array([fingerprint(texts) for texts, _ in kept], "uint64"))
            counts["duplicates"] += len(kept) - int(new.sum())
            kept = list(itertools.compress(kept, new))
        counts["kept"] += len(kept)
        for texts, changes in kept:
            counts.update(changes)
            yield texts


def active_rules(config):
    """Returns the rules for single pairs that are on, as (name, function, setting)."""
    rules = ((rule.name, rule.drops, getattr(config, rule.name)) for rule in RULES)
    return [(name, drops, setting) for name, drops, setting in rules if drops and setting]


def judge(source, target, rules, normalization, counts):
    """Applies rules to a pair of bytes.

    Args:
        source, target: bytes.
        rules: the result of `active_rules`.
        normalization: the `Normalization` of every text.
        counts: a `collections.Counter` in which a dropped pair is counted.

    Returns:
        (normalized texts, set of changes made), or None if a rule drops the pair.
    """
    decoded, is_utf8 = [], True
    for side in (source, target):
        try:
            decoded.append(side.decode("utf-8"))
        except UnicodeDecodeError:
            decoded.append(side.decode("utf-8", "replace"))
            is_utf8 = False
    texts = normalization(decoded[0]), normalization(decoded[1])
    pair = Pair(*texts, *sorted(map(len, texts)), is_utf8)
    for name, drops, setting in rules:
        if drops(pair, setting):
            counts[name] += 1
            return None
    changes = set() if is_utf8 else {"replaced"}
    for before, after in zip(decoded, texts, strict=True):
        if before != after:
            changes.update(changes_of(before, normalization))
    return texts, changes


def changes_of(text, normalization):
    """Yields the names of the changes that the normalization makes to a text."""
    if normalization.control_characters and CONTROL_CHARACTERS.search(text):
        yield "control_characters"
    if normalization.nfc and Normalization(nfc=False)(text) != Normalization()(text):
        yield "nfc"


def with_current_names(counts):
    """Returns counts with former names replaced by current ones."""
    return {FORMER_NAMES.get(name, name): count for name, count in counts.items()}


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
