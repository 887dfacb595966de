import numpy as np
import pytest
from support.importing.small_sentencepiece import unigram_model
from support.text.toy_tokenizers import IMPORTED_KINDS, KINDS, TOY_TEXTS, UGLY_TEXTS, toy_tokenizer

from pipelines.special_ids import BEGIN, END, PADDING, SPECIAL_PIECES, UNKNOWN
from pipelines.text.normalization import Normalization
from pipelines.tokenizers import (
    BytePairTokenizer,
    WordPieceTokenizer,
    load_tokenizer,
    lone_pieces,
    save_tokenizer,
    words,
)
from pipelines.tokenizers.byte_pairs import FEW


@pytest.fixture(params=KINDS)
def tokenizer(request):
    return toy_tokenizer(request.param)


only_with_bytes = pytest.mark.parametrize("tokenizer", ["bpe"], indirect=True)
all_kinds = pytest.mark.parametrize("tokenizer", KINDS + IMPORTED_KINDS, indirect=True)


def test_text_is_restored_from_its_ids(tokenizer):
    ids = tokenizer.encode(TOY_TEXTS)
    assert tokenizer.decode(ids) == TOY_TEXTS
    assert UNKNOWN not in np.concatenate(ids)
    assert tokenizer.decode([[BEGIN, *ids[0], END, PADDING]]) == TOY_TEXTS[:1]
    assert not {PADDING, BEGIN, END} & set(np.concatenate(tokenizer.encode(UGLY_TEXTS)))


@only_with_bytes
def test_byte_pieces_restore_every_text(tokenizer):
    restored = tokenizer.decode(tokenizer.encode(UGLY_TEXTS))
    assert restored == [Normalization()(text) for text in UGLY_TEXTS]


def test_only_unseen_characters_are_unknown_and_only_without_bytes(tokenizer):
    (ids,) = tokenizer.encode(["日 Hund 日 q§"])
    unknown = (ids == UNKNOWN).sum()
    assert unknown >= 3 if not len(tokenizer.byte_ids) else unknown == 0


def test_pieces_are_joined_to_words(tokenizer):
    text = "Der Hund schläft, glaube ich."
    ids = [BEGIN, *tokenizer.encode([text])[0], END, PADDING]
    joined = words(tokenizer, ids)
    assert [word for word, _ in joined] == ["<s>", *text.split(), "</s>", "<pad>"]
    assert sum(pieces for _, pieces in joined) == len(ids)
    assert max(pieces for _, pieces in joined) > 1
    assert [pieces for word, pieces in joined if word in ("<s>", "</s>", "<pad>")] == [1, 1, 1]
    lone, counts = zip(*lone_pieces(tokenizer, ids), strict=True)
    assert "".join(lone) == "<s>▁Der▁Hund▁schläft,▁glaube▁ich.</s><pad>"
    assert set(counts) == {1}
    assert all(text for text, _ in words(tokenizer, range(tokenizer.size)))
    assert words(tokenizer, []) == []


@only_with_bytes
def test_bytes_are_joined_to_characters(tokenizer):
    ids = tokenizer.encode(["Hund 日本 €"])[0]
    assert [word for word, _ in words(tokenizer, ids)] == ["Hund", "日本", "€"]
    assert [word for word, _ in lone_pieces(tokenizer, ids)][-3:] == ["<0xE2>", "<0x82>", "<0xAC>"]
    incomplete = ids[:-1]  # a model may write a part of a character
    assert words(tokenizer, incomplete)[-1][0].strip("\ufffd") == ""


@all_kinds
def test_a_saved_tokenizer_is_loaded_unchanged_unless_a_bit_has_flipped(tokenizer, tmp_path):
    save_tokenizer(tokenizer, tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert type(loaded) is type(tokenizer) and loaded.size == tokenizer.size
    assert loaded.normalization == tokenizer.normalization
    assert loaded.contents() == tokenizer.contents()
    texts = [*UGLY_TEXTS[:10], *TOY_TEXTS[:10], ">>de<< Hund"]
    for ids, expected in zip(loaded.encode(texts), tokenizer.encode(texts), strict=True):
        np.testing.assert_array_equal(ids, expected)
    for name in (*tokenizer.files(), "tokenizer.json"):
        contents = (tmp_path / name).read_bytes()
        flipped = bytearray(contents)
        flipped[-20] ^= 1
        (tmp_path / name).write_bytes(flipped)
        with pytest.raises(ValueError, match=r"holds no readable vocabulary .* from a copy"):
            load_tokenizer(tmp_path)
        (tmp_path / name).write_bytes(contents)


@all_kinds
def test_a_lone_text_is_refused(tokenizer):
    with pytest.raises(ValueError, match=r"`texts` must be a list of texts. Received: texts='ab'"):
        tokenizer.encode("ab")


def test_a_folder_without_a_vocabulary_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no readable vocabulary .* from a copy: .* t2t-prepare"):
        load_tokenizer(tmp_path)
    (tmp_path / "vocabulary").mkdir()
    with pytest.raises(ValueError, match=r"Give the folder inside it: .*vocabulary"):
        load_tokenizer(tmp_path)


def test_sentencepiece_models_with_other_special_ids_are_refused():
    with pytest.raises(ValueError, match=r"pad_id=0, bos_id=1.*Received: \[-1, 1, 2, 0\]"):
        BytePairTokenizer(unigram_model(160))


def test_word_pieces_are_found_longest_first_and_must_be_distinct():
    tokenizer = WordPieceTokenizer([*SPECIAL_PIECES, "a", "ab", "##▁b", "##▁bc", "##▁c"])
    pieces = [tokenizer.pieces(ids) for ids in tokenizer.encode(["abbc abc", "ab?b"])]
    assert pieces == [["▁ab", "bc", "▁ab", "c"], ["▁ab", "▁⁇▁", "b"]]
    with pytest.raises(ValueError, match="The first word pieces must be"):
        WordPieceTokenizer(["a", "b"])
    with pytest.raises(ValueError, match="Received: 6 pieces, 5 of them distinct"):
        WordPieceTokenizer([*SPECIAL_PIECES, "a", "a"])


def test_a_few_texts_have_the_ids_that_they_have_in_a_long_list():
    """A long list is encoded by threads."""
    tokenizer = toy_tokenizer("bpe")
    texts = ["", " ", *UGLY_TEXTS, *TOY_TEXTS]
    texts = (texts * (FEW // len(texts) + 1))[: FEW + 1]
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        np.testing.assert_array_equal(tokenizer.encode([text])[0], ids)
