"""Sub-words: text to ids and back, outside of any graph.

Byte-pair encoding by SentencePiece (the paper's En–De vocabulary) and word pieces (its En–Fr one,
Wu et al. 2016), each with one vocabulary for both languages. Ids 0 to 3 are padding, begin, end
and unknown. `in_graph()` gives the same ids inside a `tf.data` or serving graph.

A tokenizer is a folder: `tokenizer.json` and the model's own file.
"""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import sentencepiece

from pipelines.normalization import SPACE_SIGN, Normalization

PADDING, BEGIN, END, UNKNOWN = range(4)
# Marks that no normalised text can hold, because they are made of the space sign.
SPECIAL_PIECES = [f"{SPACE_SIGN}{name}" for name in ("padding", "begin", "end", "unknown")]
CONTINUES = f"##{SPACE_SIGN}"  # before a word piece that does not begin its word
MARKS = {PADDING: "<pad>", BEGIN: "<s>", END: "</s>"}  # how pictures write what is no text
UNKNOWN_SURFACE = "\u2047"  # how SentencePiece writes an unknown piece: a double question mark


class BytePairTokenizer:
    """Byte pairs.

    Args:
        model: a SentencePiece model, as bytes.
        normalization: what is done to a text first.
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
                "A SentencePiece model must be made with pad_id=0, bos_id=1, eos_id=2, unk_id=3. "
                f"Received: {ids}"
            )
        self.size = self.processor.get_piece_size()
        self.byte_ids = [id for id in range(self.size) if self.processor.is_byte(id)]
        self.begins_word = begins_word(self)

    def encode(self, texts):
        """Ids of each text, an int32 array; neither begin nor end."""
        normalized = [self.normalization(text) for text in several(texts)]
        return [np.array(ids, "int32") for ids in self.processor.encode(normalized, num_threads=-1)]

    def decode(self, sequences):
        """The text of each sequence of ids; padding, begin and end are passed over."""
        texts = self.processor.decode([[int(id) for id in ids] for ids in sequences])
        # Bytes that a model has put together may be no UTF-8: then they are U+FFFD.
        return [text.strip(" ") for text in texts]

    def pieces(self, ids):
        """How each id is written; a piece that begins a word begins with `SPACE_SIGN`."""
        return [self.processor.id_to_piece(int(id)) for id in ids]

    def contents(self):
        return self.model

    def in_graph(self):
        from pipelines.graph_tokenizers import GraphBytePairTokenizer  # loads TensorFlow

        return GraphBytePairTokenizer(self.model, self.normalization)


class WordPieceTokenizer:
    """Word pieces: from each word, again and again the longest piece that it begins with.

    Args:
        vocabulary: the pieces in the order of their ids, the first four `SPECIAL_PIECES`.
        normalization: what is done to a text first.

    Words are what stands between spaces, so that the text comes back as it was. A character
    that the vocabulary does not have is unknown.
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
            raise ValueError("A word piece must stand only once in the vocabulary")
        self.longest = max(len(piece.removeprefix(CONTINUES)) for piece in self.vocabulary)
        self.size = len(self.vocabulary)
        self.begins_word = begins_word(self)
        self.known_words = {}  # words seen before, with their ids

    def encode(self, texts):
        """Ids of each text, an int32 array; neither begin nor end."""
        words = (self.normalization(text).split(" ") for text in several(texts))
        return [
            np.array(list(itertools.chain.from_iterable(self.encode_word(w) for w in row)), "int32")
            for row in words
        ]

    def encode_word(self, word):
        if word not in self.known_words:
            if len(self.known_words) > 100_000:
                self.known_words.clear()
            self.known_words[word] = self.longest_first(word)
        return self.known_words[word]

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
        """The text of each sequence of ids; padding, begin and end are passed over."""
        return ["".join(map(self.surface, ids)).strip(" ") for ids in sequences]

    def surface(self, id):
        if id in (PADDING, BEGIN, END):
            return ""
        if id == UNKNOWN:
            return f" {UNKNOWN_SURFACE} "
        piece = self.vocabulary[id]
        return piece.removeprefix(CONTINUES) if piece.startswith(CONTINUES) else f" {piece}"

    def pieces(self, ids):
        """How each id is written; a piece that begins a word begins with `SPACE_SIGN`."""
        return [self.surface(int(id)).replace(" ", SPACE_SIGN) for id in ids]

    def contents(self):
        return "".join(f"{piece}\n" for piece in self.vocabulary).encode()

    def in_graph(self):
        from pipelines.graph_tokenizers import GraphWordPieceTokenizer  # loads TensorFlow

        return GraphWordPieceTokenizer(self.vocabulary, self.normalization)


def begins_word(tokenizer):
    """Of each id, whether it begins a word."""
    pieces = tokenizer.pieces(range(tokenizer.size))
    return np.array([piece.startswith(SPACE_SIGN) for piece in pieces])


def words(tokenizer, ids):
    """The words that ids make up: for each its text and how many pieces it has.

    Padding, begin and end are words of their own, written as `MARKS` says.
    """
    groups = []
    for id, piece in zip(ids, tokenizer.pieces(ids), strict=True):
        after_a_mark = not groups or groups[-1][-1] in MARKS
        if after_a_mark or id in MARKS or piece.startswith(SPACE_SIGN):
            groups.append([])
        groups[-1].append(int(id))
    # Bytes become the character that they are; a space sign alone would be no text.
    decoded = zip(groups, tokenizer.decode(groups), strict=True)
    return [(MARKS.get(group[0]) or text or SPACE_SIGN, len(group)) for group, text in decoded]


def lone_pieces(tokenizer, ids):
    """The same for readers who want to see the pieces: each is a word."""
    pieces = zip(ids, tokenizer.pieces(ids), strict=True)
    return [(MARKS.get(int(id), piece), 1) for id, piece in pieces]


def several(texts):
    """Refuses one text where a list of texts is wanted: it would be taken letter by letter."""
    if isinstance(texts, str | bytes):
        raise ValueError(f"`texts` must be a list of texts. Received: texts={texts!r}")
    return texts


def save_tokenizer(tokenizer, folder):
    """Writes a tokenizer into a folder, whose `tokenizer.json` comes last."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / tokenizer.file).write_bytes(tokenizer.contents())
    settings = {
        "kind": tokenizer.kind,
        "size": tokenizer.size,
        "normalization": dataclasses.asdict(tokenizer.normalization),
    }
    (folder / "tokenizer.json").write_text(json.dumps(settings, indent=2) + "\n")


def load_tokenizer(folder):
    """Reads what `save_tokenizer` wrote."""
    folder = Path(folder)
    try:
        settings = json.loads((folder / "tokenizer.json").read_text())
        normalization = Normalization(**settings["normalization"])
        if settings["kind"] == BytePairTokenizer.kind:
            return BytePairTokenizer((folder / BytePairTokenizer.file).read_bytes(), normalization)
        lines = (folder / WordPieceTokenizer.file).read_text(encoding="utf-8").split("\n")
        return WordPieceTokenizer(lines[:-1], normalization)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"{folder} holds no readable vocabulary ({error}). It needs the files that "
            "t2t-prepare wrote: tokenizer.json and "
            f"{BytePairTokenizer.file} or {WordPieceTokenizer.file}"
        ) from error
