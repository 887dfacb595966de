import numpy as np
import pytest

from pipelines.normalization import Normalization
from pipelines.tokenizers import SPACE_SIGN, SPECIAL_PIECES, UNKNOWN
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import KINDS, VocabularyConfig, learn, learnable

TEXTS = [Normalization()(side) for pair in pairs(1500) for side in pair]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_gives_the_same_vocabulary(kind):
    config = VocabularyConfig(kind=kind, size=450)
    assert learn(TEXTS, config).contents() == learn(iter(TEXTS), config).contents()


def test_byte_pairs_have_exactly_the_size_and_word_pieces_at_most(capfd):
    assert learn(TEXTS, VocabularyConfig(size=450)).size == 450
    size = learn(TEXTS, VocabularyConfig(kind="word_pieces", size=450)).size
    assert 0.98 * 450 <= size <= 450
    said = capfd.readouterr().err
    assert "learning byte pairs: 450 of 450 pieces (100%)" in said
    assert "learning word pieces: " in said


@pytest.mark.parametrize("kind", KINDS)
def test_more_pieces_make_shorter_sentences(kind):
    small = learn(TEXTS, VocabularyConfig(kind=kind, size=400))
    large = learn(TEXTS, VocabularyConfig(kind=kind, size=700))
    count = [sum(map(len, tokenizer.encode(TEXTS))) for tokenizer in (small, large)]
    assert count[1] < 0.9 * count[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_symbol_is_one_piece(kind):
    lines = ["(S (NP XX )NP (VP XX )VP )S", "The dog sees the cat ."] * 50
    config = VocabularyConfig(kind=kind, size=300 if kind == "bpe" else 52)
    config.symbols = ("(S", "(NP", ")NP", "(VP", ")VP", ")S")
    tokenizer = learn(lines, config)
    pieces = tokenizer.pieces(tokenizer.encode(["(S (NP XX )NP )S"])[0])
    assert [piece for piece in pieces if piece[1:] in config.symbols] == [
        SPACE_SIGN + symbol for symbol in ("(S", "(NP", ")NP", ")S")
    ]
    assert tokenizer.decode(tokenizer.encode(lines)) == lines


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_too_large_is_answered_with_the_largest(kind):
    with pytest.raises(
        ValueError, match=r"too small .* 100,000 pieces: .* at most ([\d,]+)\."
    ) as e:
        learn(TEXTS[:40], VocabularyConfig(kind=kind, size=100_000))
    most = int(str(e.value).split("at most ")[1].split(".")[0].replace(",", ""))
    assert learn(TEXTS[:40], VocabularyConfig(kind=kind, size=most)).size == most


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_too_small_is_answered_with_the_smallest(kind):
    with pytest.raises(ValueError, match=r"does not hold .* at least \d+, or less") as error:
        learn(TEXTS, VocabularyConfig(kind=kind, size=20))
    least = int(str(error.value).split("at least ")[1].split(",")[0])
    assert learn(TEXTS, VocabularyConfig(kind=kind, size=least)).size <= least


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_refused(kind):
    for nothing in ([], ["", ""]):
        with pytest.raises(ValueError, match="There is no text to learn"):
            learn(nothing, VocabularyConfig(kind=kind, size=300))


def test_rare_characters_get_no_word_piece_of_their_own():
    words = learnable({"aaa": 5000, "ab": 5000, "☃": 1}, VocabularyConfig(), SPECIAL_PIECES)
    assert dict(words) == {"aaa": 5000, "ab": 5000}
    config = VocabularyConfig(kind="word_pieces", size=10)
    tokenizer = learn(["aaa bab"] * 20000 + ["☃"], config)
    np.testing.assert_array_equal(tokenizer.encode(["☃"])[0], [UNKNOWN])


def test_characters_of_long_words_are_learned_too():
    words = learnable({"a": 5, "b" * 60: 5}, VocabularyConfig(character_coverage=1.0), [])
    assert dict(words) == {"a": 5, "b": 1}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "unigram"}, "`kind` must be one of .* Received: kind='unigram'"),
        ({"size": 0}, "`size` must be a whole number of at least 1"),
        ({"size": True}, "`size` must be a whole number of at least 1"),
        ({"seed": "q"}, "`seed` must be a whole number of at least 0"),
        ({"symbols": "(S"}, "`symbols` must be a tuple of different words"),
        ({"symbols": ("a", "a")}, "`symbols` must be a tuple of different words"),
        ({"character_coverage": "x"}, "from 0.9 to 1"),
        ({"sample_pairs": 1.5}, "`sample_pairs` must be a whole number"),
        ({"character_coverage": 0.5}, r"from 0.9 to 1. Received: character_coverage=0.5"),
        ({"symbols": ("a b",)}, "`symbols` must be words without spaces. Received: 'a b'"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        VocabularyConfig(**settings).validate()
