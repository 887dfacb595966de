"""SentencePiece's byte pairs: the paper's English–German sub-words (§5.1)."""

import sentencepiece

from pipelines.special_ids import BEGIN, END, PADDING, UNKNOWN
from pipelines.text.normalization import Normalization
from pipelines.tokenizers.tokenizer_base import Tokenizer

# Maximum number of texts that one thread encodes. SentencePiece starts its threads anew in each
# call with a list, which takes as long as encoding about thirty sentences.
FEW = 32


class BytePairTokenizer(Tokenizer):
    """A byte-pair tokenizer, whose `model` is a serialized SentencePiece model."""

    kind = "bpe"

    def __init__(self, model, normalization=None):
        self.model = model
        self.normalization = Normalization() if normalization is None else normalization
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        ids = [getattr(self.processor, f"{name}_id")() for name in ("pad", "bos", "eos", "unk")]
        if ids != [PADDING, BEGIN, END, UNKNOWN]:
            raise ValueError(
                "A SentencePiece model must be trained with pad_id=0, bos_id=1, eos_id=2, "
                f"unk_id=3. Received: {ids}"
            )
        self.size = self.processor.get_piece_size()
        self.byte_ids = [id for id in range(self.size) if self.processor.is_byte(id)]
        control = [id for id in range(END + 1, self.size) if self.processor.is_control(id)]
        self.tags = {self.processor.id_to_piece(id): id for id in control}

    def ids_of(self, texts):
        """Returns a list of ids for each normalized text."""
        return split(self.processor, texts)

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        texts = (self.processor.decode([*map(int, ids)]) if len(ids) else "" for ids in sequences)
        # Byte pieces that do not form valid UTF-8 become U+FFFD.
        return [text.strip(" ") for text in texts]

    def pieces(self, ids):
        """Returns the piece of each id. A piece that begins a word starts with `SPACE_SIGN`."""
        return [self.processor.id_to_piece(int(id)) for id in ids]

    def files(self):
        return {"bpe.model": self.model}

    @classmethod
    def from_files(cls, read, normalization):
        return cls(read("bpe.model"), normalization)


def split(processor, texts, out_type=int):
    """Returns the ids of each normalized text, or with `out_type=str` the pieces."""
    if len(texts) <= FEW:
        return [processor.encode(text, out_type=out_type) for text in texts]
    return processor.encode(texts, out_type=out_type, num_threads=-1)
