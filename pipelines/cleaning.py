"""Which sentence pairs are kept, rule by rule, and how many each rule dropped or changed.

A rule that is off drops nothing; nothing is dropped without being counted.
"""

import dataclasses
import hashlib
import itertools

import numpy as np

from pipelines.normalization import CONTROL_CHARACTERS, Normalization

CHUNK = 10_000  # pairs looked at together


@dataclasses.dataclass
class CleaningConfig:
    """The rules; each can be turned off on its own.

    Args:
        nfc: compose characters (Unicode NFC).
        control_characters: remove them.
        empty: drop a pair with an empty side.
        invalid_utf8: drop a pair that is not UTF-8. Off: what is not is replaced by U+FFFD.
        identical: drop a pair whose sides are the same, which is not translated.
        duplicates: drop a pair that was there before.
        max_characters: drop a pair with a longer side. 0: off.
        max_ratio: drop a pair one side of which has more than this times the characters of the
            other, where fewer than 20 count as 20. 0: off.
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
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is bool:
                right = isinstance(value, bool)
            else:
                right = isinstance(value, int | float) and not isinstance(value, bool)
                right = right and (value == 0 or value >= 1)
            if not right:
                allowed = "True or False" if field.type is bool else "0 (off) or at least 1"
                raise ValueError(
                    f"`{field.name}` must be {allowed}. Received: {field.name}={value!r}"
                )

    def normalization(self):
        """What the tokenizer is to do to every text, later ones included."""
        return Normalization(nfc=self.nfc, control_characters=self.control_characters)

    @classmethod
    def keep_everything(cls):
        """No rule: for test sets, where every line counts."""
        return cls(
            empty=False,
            invalid_utf8=False,
            identical=False,
            duplicates=False,
            max_characters=0,
            max_ratio=0,
        )


# What a count means, in the report's words.
DROPPED = {
    "invalid_utf8": "not UTF-8",
    "empty": "empty side",
    "too_long": "too long",
    "ratio": "lengths too different",
    "identical": "source = target",
    "duplicate": "duplicates",
}
CHANGED = {
    "nfc": "composed by NFC",
    "control_characters": "control characters removed",
    "replaced": "what is not UTF-8 replaced",
}


def clean(pairs, config, counts, seen=None, normalization=None):
    """Yields the pairs that are kept, normalised.

    Args:
        pairs: of bytes.
        config: a `CleaningConfig`.
        counts: a `collections.Counter`, to which is added: "read", "kept", what was dropped
            under the names of `DROPPED`, and of what is kept how many pairs were changed under
            those of `CHANGED`.
        seen: what earlier pairs of the corpus were, if there are any.
        normalization: a tokenizer's own. None: the config's.
    """
    pairs, seen = iter(pairs), Seen() if seen is None else seen
    normalization = config.normalization() if normalization is None else normalization
    while chunk := list(itertools.islice(pairs, CHUNK)):
        counts["read"] += len(chunk)
        judged = [judge(*pair, config, normalization, counts) for pair in chunk]
        kept = [pair_and_changes for pair_and_changes in judged if pair_and_changes]
        if config.duplicates and kept:
            new = seen.first_time(np.array([fingerprint(pair) for pair, _ in kept], "uint64"))
            counts["duplicate"] += len(kept) - int(new.sum())
            kept = list(itertools.compress(kept, new))
        counts["kept"] += len(kept)
        for pair, changes in kept:
            counts.update(changes)
            yield pair


def judge(source, target, config, normalization, counts):
    """The normalised pair and what was changed in it, or None if a rule but that of duplicates
    drops it."""
    changed, sides = set(), []
    for raw in (source, target):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            if config.invalid_utf8:
                counts["invalid_utf8"] += 1
                return None
            changed.add("replaced")
            text = raw.decode("utf-8", "replace")
        normalized = normalization(text)
        if normalized != text:
            if normalization.control_characters and CONTROL_CHARACTERS.search(text):
                changed.add("control_characters")
            if normalization.nfc and Normalization(nfc=False)(text) != Normalization()(text):
                changed.add("nfc")
        sides.append(normalized)
    shorter, longer = sorted(map(len, sides))
    if config.empty and not shorter:
        reason = "empty"
    elif config.max_characters and longer > config.max_characters:
        reason = "too_long"
    elif config.max_ratio and longer > config.max_ratio * max(shorter, 20):
        reason = "ratio"
    elif config.identical and sides[0] == sides[1]:
        reason = "identical"
    else:
        return tuple(sides), changed
    counts[reason] += 1
    return None


def fingerprint(pair):
    """64 bits of a pair: among 36 million pairs, the chance that any two agree is 1 in 30,000."""
    digest = hashlib.blake2b("\n".join(pair).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class Seen:
    """Which fingerprints were there before, in eight bytes each.

    Sorted runs, each more than twice as long as the next, so that few are searched and each
    fingerprint is merged only a few times.
    """

    def __init__(self):
        self.runs = []

    def first_time(self, fingerprints):
        """For each fingerprint, whether neither an earlier call nor this one had it before."""
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
