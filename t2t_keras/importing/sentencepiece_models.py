"""SentencePiece models next to a vocabulary, and checks that they belong together.

A wrong SentencePiece model raises no error: it splits texts into pieces that the vocabulary mostly
lacks, so that nearly every token is unknown.
"""

import re
from typing import NamedTuple

from t2t_keras.importing.files.whole_file import reading

CODE = re.compile(">>.+<<")  # a language code at the beginning of a text
SPECIAL = 4  # padding, begin, end and unknown come first in `Pieces`


def read_sentencepiece(path):
    """Returns a SentencePiece model as bytes and as a processor."""
    with reading(path, "SentencePiece model"):
        model = path.read_bytes()
        return model, processor_of(model)


def processor_of(model):
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_proto=model)


def sentencepiece_fields(folder, side, pieces):
    """Returns the fields of `Pieces` for a SentencePiece model in the folder; {} if there is none.

    Args:
        folder: path of the folder.
        side: "source" or "target".
        pieces: the pieces of this side.
    """
    for name in (f"{side}.spm", f"{side}.model", "sentencepiece.model", "spm.model"):
        if (folder / name).exists():
            model, processor = read_sentencepiece(folder / name)
            codes = (piece for piece in pieces if CODE.fullmatch(piece))
            # SentencePiece itself recognizes codes that it was trained with.
            apart = any(processor.piece_to_id(code) == processor.unk_id() for code in codes)
            return {"kind": "sentencepiece", "model": model, "codes": side == "source" and apart}
    return {}


class Comparison(NamedTuple):
    """The number of pieces of a SentencePiece model, of tokens of a vocabulary, and in common."""

    model: int
    vocabulary: int
    common: int

    @property
    def fits(self):
        """Whether at least half of the smaller one, and not nothing, is in the larger one."""
        return self.common > 0 and 2 * self.common >= min(self.model, self.vocabulary)

    def __str__(self):
        return (
            f"of the {self.model:,} pieces of the SentencePiece model and the {self.vocabulary:,} "
            f"tokens of the vocabulary, {self.common:,} are the same"
        )


def compared(model, pieces):
    """Returns the `Comparison` of a SentencePiece model and a side's pieces, special ones apart."""
    processor = processor_of(model)
    special = processor.is_control, processor.is_unknown, processor.is_unused
    ids = range(processor.get_piece_size())
    known = {processor.id_to_piece(i) for i in ids if not any(test(i) for test in special)}
    tokens = set(pieces[SPECIAL:])
    return Comparison(len(known), len(tokens), len(known & tokens))


def compare_pieces(imported, folder):
    """Rejects an `Imported` model whose SentencePiece model is a different model's.

    If only some of its pieces are missing from the vocabulary, adds a note.
    """
    sides = {"source": imported.source, "target": imported.target}
    if imported.source is imported.target:
        sides = {"source and target": imported.source}
    for name, side in sides.items():
        found = side.model and compared(side.model, side.pieces)
        if found and not found.fits:
            raise ValueError(
                f"{folder}: {found} ({name}). They do not belong together: give the SentencePiece "
                "model that this model was trained with"
            )
        if found and found.model > found.common:
            imported.notes.append(
                f"{name}: {found.model - found.common:,} of the {found.model:,} pieces of the "
                "SentencePiece model are not in the vocabulary; text that is split into them "
                "becomes unknown tokens"
            )
