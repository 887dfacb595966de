"""SentencePiece models whose pieces have different ids in the translation model's vocabulary.

In Marian models, SentencePiece splits the text, and a separate table gives each piece its id.
Pieces without an entry are unknown; they stay in the SentencePiece model, because the segmentation
depends on them. Conversely, the table may contain characters that are not SentencePiece pieces.
SentencePiece returns such characters unchanged, so they still get their ids.
"""

import functools
import json

import sentencepiece

from pipelines.special_ids import UNKNOWN
from pipelines.text.normalization import SPACE_SIGN
from pipelines.tokenizers.byte_pairs import split
from pipelines.tokenizers.tokenizer_base import CODE, ListedTokenizer

SPECIAL = 4


class MappedSentencePiece(ListedTokenizer):
    """A SentencePiece model with a table of ids.

    Args:
        model: a serialized SentencePiece model of any kind, as bytes.
        vocabulary, normalization: see `ListedTokenizer`.
        codes: whether a language code at the beginning of a text, such as >>de<<, is split off as
            one token before SentencePiece is applied.
        begin: whether the ids of a text that is not empty start with the begin id.
    """

    kind = "sentencepiece"

    def __init__(self, model, vocabulary, normalization=None, codes=False, begin=False):
        super().__init__(vocabulary, normalization)
        self.model, self.begin, self.splits_codes = model, begin, codes
        self.options = {"codes": codes, "begin": begin}
        try:
            self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError(f"the SentencePiece model cannot be read: {error}") from error
        self.ids = self.distinct_ids(SPECIAL)
        pieces = map(self.processor.id_to_piece, range(self.processor.get_piece_size()))
        self.bytes = {
            self.ids[piece]: bytes([int(piece[3:5], 16)])
            for id, piece in enumerate(pieces)
            if self.processor.is_byte(id) and piece in self.ids
        }
        self.byte_ids, unknown = list(self.bytes), self.processor.unk_id()
        self.codes = {
            piece: id
            for piece, id in self.ids.items()
            if CODE.fullmatch(piece) and (codes or self.processor.piece_to_id(piece) != unknown)
        }

    def ids_of(self, texts):
        """Returns a list of ids for each normalized text."""
        codes = [self.code_before(text) if self.splits_codes else "" for text in texts]
        rests = [text[len(code) :] for code, text in zip(codes, texts, strict=True)]
        pieces = split(self.processor, rests, str)
        found = ([*filter(None, [code]), *own] for code, own in zip(codes, pieces, strict=True))
        return [[self.ids.get(piece, UNKNOWN) for piece in own] for own in found]

    def code_before(self, text):
        """Returns the start of a normalized text if it looks like a language code, else ""."""
        match = CODE.match(text)
        return match[0] if match else ""

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        joined = (b"".join(self.surfaces[id] for id in ids) for ids in sequences)
        return [text.decode("utf-8", "replace").strip(" ") for text in joined]

    @functools.cached_property
    def surfaces(self):
        """The UTF-8 text of each id."""
        texts = [piece.replace(SPACE_SIGN, " ").encode() for piece in self.vocabulary]
        texts[:SPECIAL] = b"", b"", b"", self.unknown.encode()
        return [self.bytes.get(id, text) for id, text in enumerate(texts)]

    def files(self):
        return {"sentencepiece.model": self.model, **super().files()}

    @classmethod
    def from_files(cls, read, normalization):
        model, options = read("sentencepiece.model"), json.loads(read("pieces.json"))
        return cls(model, options.pop("pieces"), normalization, **options)
