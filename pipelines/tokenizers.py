"""Sub-word tokenizers: text to ids and back, in plain Python.

There are two kinds, each with one vocabulary for both languages: byte pairs by SentencePiece (the
paper's En–De vocabulary) and word pieces (its En–Fr vocabulary, Wu et al. 2016). Ids 0 to 3 are
padding, begin, end and unknown. `in_graph()` returns a tokenizer with the same ids for `tf.data`
and serving graphs.

On disk, a tokenizer is a folder with `tokenizer.json` and a model file.
"""

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import sentencepiece

from pipelines.normalization import SPACE_SIGN, Normalization
from pipelines.special_ids import (
    BEGIN,
    CONTINUES,
    END,
    MARKS,
    PADDING,
    SPECIAL_PIECES,
    UNKNOWN,
    UNKNOWN_SURFACE,
)
from pipelines.whole import digest, read_json, write_json


class BytePairTokenizer:
    """A byte-pair tokenizer.

    Args:
        model: a serialized SentencePiece model, as bytes.
        normalization: the `Normalization` of every text.
    """

    kind = "bpe"
    file = "bpe.model"

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
        self.begins_word = begins_word(self)

    def encode(self, texts):
        """Returns an int32 array of ids for each text, without begin and end."""
        normalized = [self.normalization(text) for text in check_is_list(texts)]
        return [np.array(ids, "int32") for ids in self.processor.encode(normalized, num_threads=-1)]

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        # Byte pieces that do not form valid UTF-8 become U+FFFD.
        texts = self.processor.decode([[int(id) for id in ids] for ids in sequences])
        return [text.strip(" ") for text in texts]

    def pieces(self, ids):
        """Returns the piece of each id. A piece that begins a word starts with `SPACE_SIGN`."""
        return [self.processor.id_to_piece(int(id)) for id in ids]

    def contents(self):
        """Returns the bytes of the model file."""
        return self.model

    def in_graph(self):
        """Returns the same tokenizer as a TensorFlow graph."""
        from pipelines.graph_tokenizers import GraphBytePairTokenizer  # loads TensorFlow

        return GraphBytePairTokenizer(self.model, self.normalization)


class WordPieceTokenizer:
    """A word-piece tokenizer, which repeatedly takes the longest piece that the word begins with.

    Args:
        vocabulary: the pieces in the order of their ids, beginning with `SPECIAL_PIECES`.
        normalization: the `Normalization` of every text.

    Words are split at spaces only, so decoding restores the text exactly. A character without a
    piece is unknown.
    """

    kind = "word_pieces"
    file = "word_pieces.txt"
    byte_ids = ()

    def __init__(self, vocabulary, normalization=None):
        self.vocabulary = list(vocabulary)
        self.normalization = Normalization() if normalization is None else normalization
        if self.vocabulary[:4] != SPECIAL_PIECES:
            raise ValueError(
                f"The first word pieces must be {SPECIAL_PIECES}. Received: {self.vocabulary[:4]}"
            )
        self.ids = {piece: id for id, piece in enumerate(self.vocabulary)}
        if len(self.ids) != len(self.vocabulary):
            raise ValueError(
                "Word pieces must be distinct. "
                f"Received: {len(self.vocabulary)} pieces, {len(self.ids)} of them distinct"
            )
        self.longest = max(len(piece.removeprefix(CONTINUES)) for piece in self.vocabulary)
        self.size = len(self.vocabulary)
        self.begins_word = begins_word(self)
        self.ids_of_words = {}  # cache

    def encode(self, texts):
        """Returns an int32 array of ids for each text, without begin and end."""
        texts = (self.normalization(text).split(" ") for text in check_is_list(texts))
        return [
            np.array(list(itertools.chain.from_iterable(map(self.encode_word, text))), "int32")
            for text in texts
        ]

    def encode_word(self, word):
        if word not in self.ids_of_words:
            if len(self.ids_of_words) > 100_000:
                self.ids_of_words.clear()
            self.ids_of_words[word] = self.longest_first(word)
        return self.ids_of_words[word]

    def longest_first(self, word):
        ids, start = [], 0
        while start < len(word):
            prefix = CONTINUES if start else ""
            for end in range(min(len(word), start + self.longest), start, -1):
                id = self.ids.get(prefix + word[start:end])
                if id is not None:
                    break
            ids.append(UNKNOWN if id is None else id)
            start = end
        return ids

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        return ["".join(map(self.surface, ids)).strip(" ") for ids in sequences]

    def surface(self, id):
        """Returns the text of one id, with a leading space if it begins a word."""
        if id in (PADDING, BEGIN, END):
            return ""
        if id == UNKNOWN:
            return f" {UNKNOWN_SURFACE} "
        piece = self.vocabulary[id]
        return piece.removeprefix(CONTINUES) if piece.startswith(CONTINUES) else f" {piece}"

    def pieces(self, ids):
        """Returns the piece of each id. A piece that begins a word starts with `SPACE_SIGN`."""
        return [self.surface(int(id)).replace(" ", SPACE_SIGN) for id in ids]

    def contents(self):
        """Returns the bytes of the vocabulary file."""
        return "".join(f"{piece}\n" for piece in self.vocabulary).encode()

    def in_graph(self):
        """Returns the same tokenizer as a TensorFlow graph."""
        from pipelines.graph_tokenizers import GraphWordPieceTokenizer  # loads TensorFlow

        return GraphWordPieceTokenizer(self.vocabulary, self.normalization)


def begins_word(tokenizer):
    """Returns a boolean array `[size]`: whether the piece of each id begins a word."""
    pieces = tokenizer.pieces(range(tokenizer.size))
    return np.array([piece.startswith(SPACE_SIGN) for piece in pieces])


def words(tokenizer, ids):
    """Joins ids to words and returns a list of (text, number of pieces).

    Padding, begin and end are words of their own, written as in `MARKS`.
    """
    groups = []
    for id, piece in zip(ids, tokenizer.pieces(ids), strict=True):
        after_a_mark = not groups or groups[-1][-1] in MARKS
        if after_a_mark or id in MARKS or piece.startswith(SPACE_SIGN):
            groups.append([])
        groups[-1].append(int(id))
    # Decoding turns bytes into characters. A group that decodes to nothing is a lone space sign.
    decoded = zip(groups, tokenizer.decode(groups), strict=True)
    return [(MARKS.get(group[0]) or text or SPACE_SIGN, len(group)) for group, text in decoded]


def lone_pieces(tokenizer, ids):
    """Returns a list of (piece, 1), one entry per id: `words` without joining."""
    pieces = zip(ids, tokenizer.pieces(ids), strict=True)
    return [(MARKS.get(int(id), piece), 1) for id, piece in pieces]


def check_is_list(texts):
    """Returns `texts`; rejects a single string, whose characters would be encoded one by one."""
    if isinstance(texts, str | bytes):
        raise ValueError(f"`texts` must be a list of texts. Received: texts={texts!r}")
    return texts


def save_tokenizer(tokenizer, folder):
    """Writes a tokenizer to a folder, `tokenizer.json` last."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / tokenizer.file).write_bytes(tokenizer.contents())
    settings = {
        "kind": tokenizer.kind,
        "size": tokenizer.size,
        "normalization": dataclasses.asdict(tokenizer.normalization),
        "contents": digest(tokenizer.contents()),
    }
    write_json(folder / "tokenizer.json", settings)


def load_tokenizer(folder):
    """Reads a tokenizer that `save_tokenizer` wrote, and verifies its digest."""
    folder = Path(folder)
    try:
        settings = read_json(folder / "tokenizer.json", remedy="Restore it")
        if settings is None:
            raise FileNotFoundError("there is no tokenizer.json")
        normalization = Normalization(**settings["normalization"])
        kind = {kind.kind: kind for kind in (BytePairTokenizer, WordPieceTokenizer)}[
            settings["kind"]
        ]
        contents = (folder / kind.file).read_bytes()
        # Vocabularies of earlier versions have no digest.
        if settings.get("contents") not in (None, digest(contents)):
            raise ValueError(f"{kind.file} does not match its digest")
        if kind is BytePairTokenizer:
            return BytePairTokenizer(contents, normalization)
        return WordPieceTokenizer(contents.decode().split("\n")[:-1], normalization)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"{folder} holds no readable vocabulary ({error}). It must contain the files that "
            "t2t-prepare writes: tokenizer.json and "
            f"{BytePairTokenizer.file} or {WordPieceTokenizer.file}. Restore them from a copy: "
            "each run and each export contains its vocabulary"
        ) from error
