from collections import Counter

import numpy as np
import pytest

from pipelines import cleaning
from pipelines.cleaning import CleaningConfig, Seen, clean

LONG = "x" * 2001


def cleaned(pairs, **settings):
    counts = Counter()
    pairs = [tuple(side if isinstance(side, bytes) else side.encode() for side in p) for p in pairs]
    kept = list(clean(pairs, CleaningConfig(**settings), counts))
    assert counts["read"] == len(pairs)
    assert counts["kept"] == len(kept)
    assert len(pairs) - len(kept) == sum(counts[rule] for rule in cleaning.DROPPED)
    return kept, counts


@pytest.mark.parametrize(
    ("rule", "off", "pair", "kept_as"),
    [
        ("empty", {"empty": False}, ("", "b"), ("", "b")),
        ("empty", {"empty": False}, (" \t\x00", "b"), ("", "b")),
        ("invalid_utf8", {"invalid_utf8": False}, (b"a\xff", "b"), ("a\ufffd", "b")),
        ("identical", {"identical": False}, ("same", "same "), ("same", "same")),
        ("too_long", {"max_characters": 0}, (LONG, "y" * 1500), (LONG, "y" * 1500)),
        ("ratio", {"max_ratio": 0}, ("x" * 81, "short"), ("x" * 81, "short")),
    ],
)
def test_a_rule_drops_and_counts_and_can_be_turned_off(rule, off, pair, kept_as):
    kept, counts = cleaned([("good", "gut"), pair])
    assert kept == [("good", "gut")]
    assert counts[rule] == 1
    assert cleaned([("good", "gut"), pair], **off)[0] == [("good", "gut"), kept_as]


def test_short_sides_count_as_twenty_characters():
    assert cleaned([("x" * 80, "y")])[0]


@pytest.mark.parametrize(
    ("count", "off", "text", "changed"),
    [
        ("nfc", {"nfc": False}, "e\u0301", "é"),
        ("control_characters", {"control_characters": False}, "a\x00b", "ab"),
    ],
    ids=["nfc", "control characters"],
)
def test_a_change_is_counted_and_can_be_turned_off(count, off, text, changed):
    kept, counts = cleaned([("x", text), ("y", "z"), (f"{text} {text}", text)])
    assert kept[0] == ("x", changed)
    assert counts[count] == 2
    kept, counts = cleaned([("x", text)], **off)
    assert kept == [("x", text)] and not counts[count]


def test_what_is_replaced_is_counted():
    assert cleaned([(b"a\xff", "b")], invalid_utf8=False)[1]["replaced"] == 1


def test_of_duplicates_the_first_is_kept_however_far_apart(monkeypatch):
    monkeypatch.setattr(cleaning, "CHUNK", 7)
    pairs = [(f"s{n % 40}", f"t{n % 40}") for n in range(100)]
    kept, counts = cleaned(pairs)
    assert kept == pairs[:40]
    assert counts["duplicate"] == 60
    assert cleaned(pairs, duplicates=False)[0] == pairs
    # The pair counts, not the side; and what looks the same is the same.
    assert len(cleaned([("a", "b"), ("a", "c"), ("d", "b")])[0]) == 3
    assert len(cleaned([("e\u0301", "b"), ("é", "b "), ("é", "b")])[0]) == 1


def test_only_changes_of_what_is_kept_are_counted():
    _, counts = cleaned([("e\u0301", "b")] * 5)
    assert counts["nfc"] == 1 and counts["duplicate"] == 4


def test_seen_knows_everything_it_was_given():
    random, seen, known = np.random.default_rng(0), Seen(), set()
    for _ in range(200):
        numbers = random.integers(0, 3000, random.integers(1, 40)).astype("uint64")
        expected = []
        for number in numbers.tolist():
            expected.append(number not in known)
            known.add(number)
        assert seen.first_time(numbers).tolist() == expected
    assert len(seen.runs) < 12


def test_nothing_is_dropped_from_a_test_set():
    pairs = [("", ""), ("a", "a"), ("a", "a"), (LONG, "b"), (b"\xff", "c")]
    counts = Counter()
    raw = [tuple(s if isinstance(s, bytes) else s.encode() for s in pair) for pair in pairs]
    kept = list(clean(raw, CleaningConfig.keep_everything(), counts))
    assert len(kept) == len(pairs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"empty": 1}, "`empty` must be True or False. Received: empty=1"),
        ({"max_ratio": 0.5}, r"`max_ratio` must be 0 \(off\) or at least 1"),
        ({"max_characters": -1}, "`max_characters` must be 0"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        CleaningConfig(**settings).validate()
