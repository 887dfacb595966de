"""Text and settings that are probably a mistake are warned about; sound ones are not."""

import pytest
from support.text.small_corpus import CORPUS, config

from pipelines.batches.id_store import IdStore, Shard
from pipelines.preparation.prepare import InThisProcess, prepare
from pipelines.preparation.report import text_warnings, vocabulary_warnings
from pipelines.text.cleaned_text import facts_of
from pipelines.text.cleaning import Cleaning
from pipelines.text.cleaning_rules import CleaningConfig
from pipelines.text.sources import Pairs
from pipelines.tokenizers.tokenizer_base import Tokenizer
from pipelines.toy.grammar import pairs

GOOD = [tuple(side.encode() for side in pair) for pair in dict.fromkeys(pairs(220))][:200]
LATIN_1 = [(b"A dog.", f"Männchen {n}.".encode("latin1")) for n in range(9)]


def warnings_about(texts, folder, **settings):
    source, cleaning = Pairs(texts), Cleaning(CleaningConfig(**settings))
    InThisProcess().clean(source, folder, cleaning)
    counts, _, first = facts_of(folder)
    return list(text_warnings(counts, first, folder))


def test_sound_text_has_no_warnings(tmp_path):
    assert warnings_about([*GOOD, *LATIN_1[:2], *GOOD[:60]], tmp_path) == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            LATIN_1,
            "9 of 209 pairs (4.3%) were dropped: not UTF-8. The first is pair 201: 'A dog.' and "
            "b'M\\xe4nnchen 0.'. Convert the text first",
        ),
        (
            [(b"word", b"word " * n) for n in range(40, 49)],
            "lengths too different. The first is pair 201: 'word' and 'word word",
        ),
        ([(b"yes", b"yes")] * 9, "were dropped: source = target. The first is pair 201: 'yes' and"),
        (GOOD[5:] * 2, f"were dropped: duplicates. The first is pair 201: {GOOD[5][0].decode()!r}"),
        (
            [(b"a", b"")] * 9,
            "empty side. The first is pair 201: 'a' and ''. Check the text. --conf",
        ),
    ],
    ids=["not UTF-8", "lengths", "identical", "duplicates", "empty"],
)
def test_a_rule_that_drops_many_pairs_is_named_with_the_first_of_them(tmp_path, bad, message):
    (warning,) = warnings_about([*GOOD, *bad], tmp_path)
    assert message in warning


def test_two_sides_of_the_same_language_have_a_warning(tmp_path):
    (warning,) = warnings_about([(source, source.upper() + b" !") for source, _ in GOOD], tmp_path)
    assert "198 of 200 pairs have nearly the same words on both sides" in warning


class Vocabulary(Tokenizer):
    size, byte_ids, tags = 14, [4, 5], {"<2de>": 6}


@pytest.mark.parametrize(("rare", "is_large"), [(0, False), (3, False), (4, True), (7, True)])
def test_a_vocabulary_whose_pieces_are_mostly_rare_has_a_warning(rare, is_large):
    """Of its 14 pieces, 7 are neither special nor bytes nor tags."""
    source = [*range(7, 14)] * 2
    target = [*range(7 + rare, 14)] * 3 + [*range(7)] * 9
    store = IdStore([Shard.of([(source, target)] * (1 if rare else 2)), Shard.of([(source, [3])])])
    warnings = list(vocabulary_warnings(store, Vocabulary()))
    assert len(warnings) == is_large
    expected = f"of its 7 pieces, {rare} occur fewer than 5 times"
    assert all(expected in w and f".size={14 - rare}," in w for w in warnings)


@pytest.mark.usefixtures("small_parts")
def test_warnings_are_logged_whenever_the_report_is_made(tmp_path, caplog):
    changed, texts = config(), Pairs([*CORPUS, *(("a", "") for _ in range(19))])
    for tokens in (1000, 1000, 1100):
        changed.batches.tokens = tokens
        caplog.clear()
        prepare(texts, tmp_path / "data", changed)
        assert "20 of 382 pairs (5.2%) were dropped: empty side" in caplog.text
