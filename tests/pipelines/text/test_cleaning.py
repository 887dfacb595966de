from collections import Counter

import numpy as np
import pytest

from pipelines.text import cleaning
from pipelines.text.cleaning import Cleaning, Seen, judged, without_duplicates
from pipelines.text.cleaning_rules import CleaningConfig

LONG = "x" * 2001


def cleaned(pairs, **settings):
    """Returns the kept pairs, and the counts of rules and changes."""
    pairs = [tuple(side if isinstance(side, bytes) else side.encode() for side in p) for p in pairs]
    cleaning = Cleaning(CleaningConfig(**settings))
    verdicts = list(judged(pairs, cleaning))
    if cleaning.config.duplicates:
        verdicts = list(without_duplicates(verdicts))
    assert [each.pair for each in verdicts] == pairs
    counts = Counter(each.rule for each in verdicts if each.rule)
    counts.update(change for each in verdicts if not each.rule for change in each.changes)
    return [each.texts for each in verdicts if not each.rule], counts


@pytest.mark.parametrize(
    ("rule", "off", "pair", "kept_as"),
    [
        ("empty", False, ("", "b"), ("", "b")),
        ("empty", False, (" \t\x00", "b"), ("", "b")),
        ("invalid_utf8", False, (b"a\xff", "b"), ("a\ufffd", "b")),
        ("identical", False, ("same", "same "), ("same", "same")),
        ("max_characters", 0, (LONG, "y" * 1500), (LONG, "y" * 1500)),
        ("max_ratio", 0, ("x" * 81, "short"), ("x" * 81, "short")),
        ("duplicates", False, ("good", "gut"), ("good", "gut")),
    ],
)
def test_a_rule_drops_and_counts_pairs_unless_it_is_off(rule, off, pair, kept_as):
    kept, counts = cleaned([("good", "gut"), pair])
    assert kept == [("good", "gut")]
    assert counts[rule] == 1
    kept, counts = cleaned([("good", "gut"), pair], **{rule: off})
    assert kept == [("good", "gut"), kept_as]
    assert counts["replaced"] == (rule == "invalid_utf8")


def test_the_limits_themselves_are_kept():
    """A side of fewer than 20 characters counts as 20."""
    assert len(cleaned([("x" * 80, "y"), (LONG[1:], "y" * 1500)])[0]) == 2


@pytest.mark.parametrize(
    ("setting", "text", "changed"),
    [("nfc", "e\u0301", "é"), ("control_characters", "a\x00b", "ab")],
    ids=["nfc", "control_characters"],
)
def test_a_change_of_kept_pairs_is_counted_unless_it_is_off(setting, text, changed):
    kept, counts = cleaned([("x", text), ("y", "z"), (f"{text} {text}", text), ("x", text)])
    assert kept[0] == ("x", changed)
    assert counts[setting] == 2 and counts["duplicates"] == 1
    kept, counts = cleaned([("x", text)], **{setting: False})
    assert kept == [("x", text)] and not counts[setting]


def test_the_first_of_pairs_that_are_equal_after_normalization_is_kept_at_any_distance(monkeypatch):
    assert len(cleaned([("a", "b"), ("a", "c"), ("d", "b")])[0]) == 3
    assert len(cleaned([("e\u0301", "b"), ("é", "b "), ("é", "b")])[0]) == 1
    monkeypatch.setattr(cleaning, "CHUNK", 7)
    pairs = [(f"s{n % 40}", f"t{n % 40}") for n in range(100)]
    kept, counts = cleaned(pairs)
    assert kept == pairs[:40]
    assert counts["duplicates"] == 60


def test_seen_remembers_all_earlier_fingerprints():
    random, seen, known = np.random.default_rng(0), Seen(), set()
    for _ in range(200):
        fingerprints = random.integers(0, 3000, random.integers(1, 40)).astype("uint64")
        expected = []
        for fingerprint in fingerprints.tolist():
            expected.append(fingerprint not in known)
            known.add(fingerprint)
        assert seen.first_time(fingerprints).tolist() == expected
    assert len(seen.runs) < 12
