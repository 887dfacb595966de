"""Only a SentencePiece model whose pieces are tokens of the vocabulary is imported."""

import pytest
from support.importing.small_sentencepiece import pieces_of, unigram_model

from t2t_keras.importing.imported import Imported, Pieces
from t2t_keras.importing.sentencepiece_models import compare_pieces

MODEL = unigram_model(160)
KNOWN = [piece for piece in pieces_of(MODEL) if piece not in ("<unk>", "<s>", "</s>")]
WORDS = [f"word{i}" for i in range(2000)]


def imported(*sides, model=MODEL):
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    sides = [Pieces([*special, *tokens], model=model) for tokens in sides]
    return Imported("a system", None, {}, sides[0], sides[-1])


@pytest.mark.parametrize(
    ("sides", "notes"),
    [
        ([KNOWN], []),
        ([KNOWN[:-3]], ["source and target: 3"]),
        ([KNOWN[:-3], KNOWN], ["source: 3"]),
        # A vocabulary may be larger, or smaller.
        ([[*KNOWN, *WORDS], KNOWN[:10]], ["target: 147"]),
        ([KNOWN, [*KNOWN[:79], *WORDS]], ["target: 78"]),
    ],
)
def test_missing_pieces_are_noted_for_each_side(sides, notes):
    model = imported(*sides)
    compare_pieces(model, "folder")
    assert [note.partition(" of the 157 pieces")[0] for note in model.notes] == notes


def test_few_pieces_in_common_are_refused_with_the_numbers():
    message = r"of the 157 pieces .* and the 2,078 tokens .*, 78 are the same \(target\)"
    with pytest.raises(ValueError, match=message):
        compare_pieces(imported(KNOWN, [*KNOWN[:78], *WORDS]), "folder")
    with pytest.raises(ValueError, match="0 are the same"):
        compare_pieces(imported([]), "folder")
