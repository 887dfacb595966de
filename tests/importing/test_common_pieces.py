"""Only a SentencePiece model whose pieces are tokens of the vocabulary is imported."""

import pytest
from support.importing.small_sentencepiece import pieces_of, unigram_model

from t2t_keras.importing.common_pieces import compare_pieces, compared
from t2t_keras.importing.imported import Imported, Pieces

MODEL = unigram_model(160)
KNOWN = [piece for piece in pieces_of(MODEL) if piece not in ("<unk>", "<s>", "</s>")]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]


def imported(*sides):
    sides = [Pieces([*SPECIAL, *tokens], "sentencepiece", MODEL) for tokens in sides]
    return Imported("a system", None, {}, sides[0], sides[-1])


def test_equal_pieces_need_no_note():
    model = imported(KNOWN)
    assert compared(model.source) == (157, 157, 157)
    compare_pieces(model, "folder")
    assert model.notes == []


def test_missing_pieces_are_noted_for_each_side():
    model = imported(KNOWN[:-3], KNOWN)
    compare_pieces(model, "folder")
    (note,) = model.notes
    assert note.startswith("source: 3 of the 157 pieces of the SentencePiece model are not in")


def test_a_vocabulary_may_be_larger_or_smaller_by_half():
    model = imported([*KNOWN, *(f"word{i}" for i in range(900))], KNOWN[:10])
    compare_pieces(model, "folder")
    assert [note.partition(" of ")[0] for note in model.notes] == ["target: 147"]


def test_few_pieces_in_common_are_refused_with_the_numbers():
    words = [f"word{i}" for i in range(2000)]
    message = (
        "of the 157 pieces of the SentencePiece model and the 2,020 tokens of the vocabulary, 20"
    )
    with pytest.raises(ValueError, match=message + r" are the same \(target\)"):
        compare_pieces(imported(KNOWN, [*KNOWN[:20], *words]), "folder")


def test_vocabularies_without_sentencepiece_are_not_compared():
    side = Pieces([*SPECIAL, "a"])
    compare_pieces(Imported("a system", None, {}, side, side), "folder")
