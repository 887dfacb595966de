"""Decides which sentence pairs of a corpus are kept, by the rules of `cleaning_rules.py`.

Every dropped pair is counted for the rule that dropped it.
"""

import hashlib
import itertools
from typing import NamedTuple

import numpy as np

from pipelines.checks import failure_of
from pipelines.text.cleaning_rules import RULES, Pair
from pipelines.text.normalization import CONTROL_CHARACTERS, Normalization

CHUNK = 10_000  # pairs compared with earlier ones together
# {change made to kept pairs: description of the change in the report}
CHANGES = {
    "nfc": "composed by NFC",
    "control_characters": "control characters removed",
    "replaced": "malformed UTF-8 replaced",
}


class Cleaning:
    """All that decides about a pair.

    Raises `ValueError` if a rule needs the languages and they are unknown.

    Args:
        config: a `CleaningConfig`.
        normalization: the `Normalization` of every text. None: the config's.
        languages: the codes of the two languages, if they are known.

    Attributes:
        languages: the codes, or () if no rule needs them.
    """

    def __init__(self, config, normalization=None, languages=()):
        config.validate()
        settings = config.settings()
        names = [name for name, rule in RULES.items() if rule.with_languages and settings.get(name)]
        if names and len(languages or ()) != 2:
            raise ValueError(
                f"`{names[-1]}` needs the languages of both sides: --languages=en,de, or files "
                "named after them, such as train.en and train.de"
            )
        self.config, self.normalization = config, normalization or config.normalization()
        self.languages = tuple(languages) if names else ()

    def rules(self):
        """Returns the rules for single pairs that are on, as (name, function, setting)."""
        settings, active = self.config.settings(), []
        for name, rule in RULES.items():
            setting = settings.get(name)
            if rule.drops and setting:
                if rule.with_languages:
                    setting = rule.with_languages(setting, self.languages)
                active.append((name, rule.drops, setting))
        return active


class Judged(NamedTuple):
    """The verdict of the rules about a pair.

    Args:
        pair: source and target in bytes.
        texts: the normalized source and target.
        rule: name of the rule that drops the pair, or None.
        changes: names of the changes made to a kept pair.
    """

    pair: tuple
    texts: tuple
    rule: str | None
    changes: frozenset = frozenset()

    def unless(self, is_duplicate):
        """Returns the verdict with a kept pair dropped if it is a duplicate."""
        return self._replace(rule="duplicates") if is_duplicate and not self.rule else self


def judged(pairs, cleaning, first=1):
    """Yields a `Judged` for each pair, by the rules for single pairs.

    `first` is the number of the first pair in the corpus.
    """
    rules = cleaning.rules()
    for number, pair in enumerate(pairs, first):
        yield judge(pair, rules, cleaning.normalization, number)


def without_duplicates(verdicts):
    """Yields the verdicts about all pairs of a corpus, and marks duplicates of earlier pairs."""
    seen, verdicts = Seen(), iter(verdicts)
    while chunk := list(itertools.islice(verdicts, CHUNK)):
        kept = [fingerprint(each.texts) for each in chunk if not each.rule]
        new = iter(seen.first_time(np.array(kept, "uint64")).tolist())
        for each in chunk:
            yield each if each.rule else each.unless(not next(new))


def judge(pair, rules, normalization, number=1):
    """Returns the `Judged` of a pair: (source, target), then perhaps more, see `ColumnedPairs`."""
    try:
        decoded, is_utf8 = [side.decode() for side in pair[:2]], True
    except UnicodeDecodeError:
        decoded, is_utf8 = [side.decode("utf-8", "replace") for side in pair[:2]], False
    texts = normalization(decoded[0]), normalization(decoded[1])
    properties = Pair(*texts, *sorted(map(len, texts)), is_utf8, *pair[2:3])
    try:
        for name, drops, setting in rules:
            is_dropped = drops(properties, setting)
            if is_dropped:
                return Judged(pair, texts, name)
            if is_dropped is None:
                raise TypeError("it must return True to drop the pair or False to keep it")
    except (Exception, SystemExit) as error:  # of a plug-in file
        shown = " and ".join(repr(text[:60]) for text in texts)
        raise ValueError(
            f"pair {number:,} ({shown}): the rule {name!r} failed: {failure_of(error)}"
        ) from error
    changes = set() if is_utf8 else {"replaced"}
    for before, after in zip(decoded, texts, strict=True):
        if before != after:
            changes.update(changes_of(before, normalization))
    return Judged(pair, texts, None, frozenset(changes))


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
