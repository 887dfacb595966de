"""SentencePiece models whose pieces have different ids in the translation model's vocabulary.

In Marian models, SentencePiece splits the text, and a separate table gives each piece its id.
Pieces without an entry are unknown; they stay in the SentencePiece model, because the segmentation
depends on them. Conversely, the table may contain characters that are not SentencePiece pieces.
SentencePiece returns such characters unchanged, so they still get their ids.
"""

import json

import numpy as np
import sentencepiece

from pipelines.special_ids import BEGIN, UNKNOWN, UNKNOWN_SURFACE
from pipelines.text.normalization import SPACE_SIGN, Normalization
from pipelines.tokenizers.few_texts import encoded
from pipelines.tokenizers.tokenizer_base import CODE, Tokenizer, begins_word, check_is_list

SPECIAL = 4


class MappedSentencePiece(Tokenizer):
    """A SentencePiece model with a table of ids.

    Args:
        model: a serialized SentencePiece model of any kind, as bytes.
        vocabulary: the pieces in id order. The first four are the names of the
            padding, begin, end and unknown ids.
        normalization: the `Normalization` of every text.
        codes: whether a language code at the beginning of a text, such as >>de<<, is split off as
            one token before SentencePiece is applied.
        begin: whether the ids of a text that is not empty start with the begin id.
    """

    kind = "sentencepiece"

    def __init__(self, model, vocabulary, normalization=None, codes=False, begin=False):
        self.model, self.vocabulary = model, list(vocabulary)
        self.normalization = Normalization() if normalization is None else normalization
        self.begin = begin
        self.processor = loaded(model)
        self.ids = ids = {piece: id for id, piece in enumerate(self.vocabulary) if id >= SPECIAL}
        if len(ids) != len(self.vocabulary) - SPECIAL:
            raise ValueError(
                "The pieces of a vocabulary must be distinct, and at least the four special ones. "
                f"Received: {len(self.vocabulary)} pieces, {len(ids) + SPECIAL} of them distinct"
            )
        pieces = map(self.processor.id_to_piece, range(self.processor.get_piece_size()))
        self.bytes = {
            ids[piece]: bytes([int(piece[3:5], 16)])
            for id, piece in enumerate(pieces)
            if self.processor.is_byte(id) and piece in ids
        }
        self.byte_ids = list(self.bytes)
        self.splits_codes, unknown = codes, self.processor.unk_id()
        self.codes = {
            piece: id
            for piece, id in ids.items()
            if CODE.fullmatch(piece) and (codes or self.processor.piece_to_id(piece) != unknown)
        }
        self.size = len(self.vocabulary)
        self.begins_word = begins_word(self)
        self.kept_surfaces = self.surfaces()

    def encode(self, texts):
        """Returns an int32 array of ids for each text, without the end id."""
        texts = [self.normalization(text) for text in check_is_list(texts)]
        found = [CODE.match(text) if self.splits_codes else None for text in texts]
        rests = [
            text[match.end() :] if match else text for text, match in zip(texts, found, strict=True)
        ]
        result = []
        for match, pieces in zip(found, encoded(self.processor, rests, str), strict=True):
            code = [self.codes.get(match[0], UNKNOWN)] if match else []
            ids = [*code, *(self.ids.get(piece, UNKNOWN) for piece in pieces)]
            result.append(np.array([BEGIN, *ids] if self.begin and ids else ids, "int32"))
        return result

    def code_before(self, text):
        """Returns the start of a normalized text if it looks like a language code, else ""."""
        match = CODE.match(text)
        return match[0] if match else ""

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        joined = (b"".join(self.kept_surfaces[id] for id in ids) for ids in sequences)
        return [text.decode("utf-8", "replace").strip(" ") for text in joined]

    def surfaces(self):
        """Returns the UTF-8 text of each id."""
        surfaces = [b"", b"", b"", f" {UNKNOWN_SURFACE} ".encode()]
        for id, piece in enumerate(self.vocabulary[SPECIAL:], SPECIAL):
            surfaces.append(self.bytes.get(id, piece.replace(SPACE_SIGN, " ").encode()))
        return surfaces

    def pieces(self, ids):
        """Returns the piece of each id. A piece that begins a word starts with `SPACE_SIGN`."""
        return [self.vocabulary[int(id)] for id in ids]

    def in_graph(self):
        """Returns the same tokenizer as a TensorFlow graph."""
        from pipelines.tokenizers.graph_tokens import GraphMappedSentencePiece  # loads TensorFlow

        return GraphMappedSentencePiece(self)

    def files(self):
        settings = {
            "pieces": self.vocabulary,
            "codes": self.splits_codes,
            "begin": self.begin,
        }
        return {
            "sentencepiece.model": self.model,
            "pieces.json": json.dumps(settings, ensure_ascii=False, indent=0).encode(),
        }

    @classmethod
    def from_files(cls, read, normalization):
        model, settings = read("sentencepiece.model"), json.loads(read("pieces.json"))
        return cls(model, settings["pieces"], normalization, settings["codes"], settings["begin"])


def loaded(model):
    """Returns the SentencePiece processor for a serialized model."""
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError as error:
        raise ValueError(f"the SentencePiece model cannot be read: {error}") from error
