"""SentencePiece models next to a vocabulary, and checks that they belong together.

A wrong SentencePiece model raises no error: it splits texts into pieces that the vocabulary mostly
lacks, so that nearly every token is unknown.
"""

import re

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
    """Returns the fields of `Pieces` for a folder's SentencePiece model; {} if there is none."""
    for name in (f"{side}.spm", f"{side}.model", "sentencepiece.model", "spm.model"):
        if (folder / name).exists():
            model, processor = read_sentencepiece(folder / name)
            codes = (piece for piece in pieces if CODE.fullmatch(piece))
            # SentencePiece itself recognizes codes that it was trained with.
            apart = any(processor.piece_to_id(code) == processor.unk_id() for code in codes)
            return {"kind": "sentencepiece", "model": model, "codes": side == "source" and apart}
    return {}


def compare_pieces(imported, folder):
    """Rejects an `Imported` model whose SentencePiece model is a different model's.

    At least half of its pieces must be tokens, or half of the tokens pieces; special pieces and
    tokens are not counted. If only some pieces are missing from the vocabulary, adds a note.
    """
    sides = {"source": imported.source, "target": imported.target}
    if imported.source is imported.target:
        sides = {"source and target": imported.source}
    for name, side in sides.items():
        if not side.model:
            continue
        processor = processor_of(side.model)
        special = processor.is_control, processor.is_unknown, processor.is_unused
        ids = range(processor.get_piece_size())
        known = {processor.id_to_piece(i) for i in ids if not any(test(i) for test in special)}
        tokens = set(side.pieces[SPECIAL:])
        common, missing = len(known & tokens), len(known - tokens)
        if 2 * common < max(1, min(len(known), len(tokens))):
            raise ValueError(
                f"{folder}: of the {len(known):,} pieces of the SentencePiece model and the "
                f"{len(tokens):,} tokens of the vocabulary, {common:,} are the same ({name}). They "
                "do not belong together: give the SentencePiece model that this model was trained "
                "with"
            )
        if missing:
            imported.notes.append(
                f"{name}: {missing:,} of the {len(known):,} pieces of the SentencePiece model "
                "are not in the vocabulary; text that is split into them becomes unknown tokens"
            )
