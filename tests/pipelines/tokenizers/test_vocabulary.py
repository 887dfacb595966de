import re

import pytest

from pipelines.special_ids import SPECIAL_PIECES, UNKNOWN
from pipelines.text.normalization import SPACE_SIGN, Normalization
from pipelines.tokenizers.vocabulary import KINDS, VocabularyConfig, learn
from pipelines.tokenizers.word_pieces import learn_word_pieces, learnable
from pipelines.toy.grammar import pairs

TEXTS = [Normalization()(side) for pair in pairs(800) for side in pair]


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_has_the_requested_size_and_a_larger_one_makes_shorter_texts(kind, capfd):
    lengths = []
    for size in (420, 450):
        tokenizer = learn(iter(TEXTS), VocabularyConfig(kind=kind, size=size))
        assert (1.0 if kind == "bpe" else 0.98) * size <= tokenizer.size <= size
        lengths.append(sum(map(len, tokenizer.encode(TEXTS))))
        contents = tokenizer.contents()
    assert lengths[1] < 0.98 * lengths[0]
    again = learn(TEXTS, VocabularyConfig(kind=kind, size=450))
    assert again.contents() == contents, "equal texts yield equal vocabularies"
    learning = {"bpe": "byte pairs: 450 of 450 pieces (100%)", "word_pieces": "word pieces: "}
    assert f"learning {learning[kind]}" in capfd.readouterr().err


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
def test_the_errors_for_a_wrong_size_name_the_largest_and_the_smallest(kind):
    def learned(size, texts=TEXTS[:40]):
        return learn(texts, VocabularyConfig(kind=kind, size=size))

    message = r"too small .* 100,000 pieces: .* at most ([\d,]+)\."
    with pytest.raises(ValueError, match=message) as error:
        learned(100_000)
    most = int(re.search(message, str(error.value))[1].replace(",", ""))
    assert learned(most).size == most
    message = r"cannot hold .* at least (\d+), or a smaller"
    with pytest.raises(ValueError, match=message) as error:
        learned(20)
    least = int(re.search(message, str(error.value))[1])
    assert learned(least).size <= least
    for nothing in ([], ["", ""]):
        with pytest.raises(ValueError, match="There is no text to learn"):
            learned(300, nothing)


def test_rare_characters_get_no_piece_but_the_characters_of_long_words_do():
    words = learnable({"aaa": 5000, "ab": 5000, "☃": 1}, VocabularyConfig(), SPECIAL_PIECES)
    assert dict(words) == {"aaa": 5000, "ab": 5000}
    config = VocabularyConfig(kind="word_pieces", size=10)
    tokenizer = learn_word_pieces(["aaa bab"] * 20000 + ["☃"], config, None)
    assert tokenizer.encode(["☃"])[0].tolist() == [UNKNOWN]
    words = learnable({"a": 5, "b" * 60: 5}, VocabularyConfig(character_coverage=1.0), [])
    assert dict(words) == {"a": 5, "b": 1}
