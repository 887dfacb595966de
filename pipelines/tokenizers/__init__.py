"""Tokenizers: text to ids and back, in plain Python. `TOKENIZERS` lists the kinds.

Ids 0 to 3 are padding, begin, end and unknown. `in_graph()` returns a tokenizer with the same ids
for `tf.data` and serving graphs. The two languages may share a vocabulary, as in the paper, or have
separate ones. In both cases, the tokenizer has the attributes `source` and `target`.

On disk, a tokenizer is a folder with `tokenizer.json` and the files of its kind. Separate
vocabularies are two such folders, `source` and `target`.
"""

import dataclasses
from pathlib import Path

from pipelines.atomic_files import digest, read_json, write_json
from pipelines.text.normalization import SPACE_SIGN, Normalization
from pipelines.tokenizers.byte_pairs import BytePairTokenizer
from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from pipelines.tokenizers.separated_tokens import TokenTokenizer
from pipelines.tokenizers.tags import untagged
from pipelines.tokenizers.tensor2tensor_subwords import SubwordTokenizer
from pipelines.tokenizers.word_pieces import WordPieceTokenizer

SIDES = ("source", "target")
KINDS = BytePairTokenizer, WordPieceTokenizer, MappedSentencePiece, SubwordTokenizer, TokenTokenizer
TOKENIZERS = {kind.kind: kind for kind in KINDS}


class SeparateTokenizers:
    """A tokenizer for each language. Both apply the same normalization."""

    def __init__(self, source, target):
        self.source, self.target = source, target
        self.normalization = source.normalization

    def contents(self):
        """Returns bytes that are equal for equal vocabularies."""
        return b"".join(side.contents() for side in (self.source, self.target))


def graphs_of(tokenizer):
    """Returns the source and target tokenizers as graphs, which add no tag.

    If the languages share a vocabulary, both graphs are the same object.
    """
    tokenizer = untagged(tokenizer)
    source = tokenizer.source.in_graph()
    shared = tokenizer.target is tokenizer.source
    return source, source if shared else tokenizer.target.in_graph()


def words(tokenizer, ids):
    """Joins ids into words and returns a list of (text, number of pieces).

    Padding, begin, end and tags are separate words with the labels in `tokenizer.marks`.
    """
    groups, marks = [], tokenizer.marks
    for id in map(int, ids):
        after_a_mark = not groups or groups[-1][-1] in marks
        if tokenizer.ends_word is None:
            begins = tokenizer.begins_word[id]
        else:
            begins = after_a_mark or tokenizer.ends_word[groups[-1][-1]]
        if after_a_mark or id in marks or begins:
            groups.append([])
        groups[-1].append(id)
    # Decoding turns bytes into characters. A group that decodes to nothing is a lone space sign.
    decoded = zip(groups, tokenizer.decode(groups), strict=True)
    return [(marks.get(group[0]) or text or SPACE_SIGN, len(group)) for group, text in decoded]


def lone_pieces(tokenizer, ids):
    """Returns a list of (piece, 1), one entry per id. Unlike `words`, it joins no pieces."""
    pieces = zip(ids, tokenizer.pieces(ids), strict=True)
    return [(tokenizer.marks.get(int(id), piece), 1) for id, piece in pieces]


def save_tokenizer(tokenizer, folder):
    """Writes a tokenizer to a folder, `tokenizer.json` last. A tag is not saved."""
    folder, tokenizer = Path(folder), untagged(tokenizer)
    if isinstance(tokenizer, SeparateTokenizers):
        for side in SIDES:
            save_tokenizer(getattr(tokenizer, side), folder / side)
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, contents in tokenizer.files().items():
        (folder / name).write_bytes(contents)
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
    if any((folder / side).exists() for side in SIDES):
        return SeparateTokenizers(*(load_tokenizer(folder / side) for side in SIDES))
    try:
        settings = read_json(folder / "tokenizer.json", remedy="Restore it")
        if settings is None:
            raise FileNotFoundError("there is no tokenizer.json")
        normalization = Normalization(**settings["normalization"])
        kind = TOKENIZERS[settings["kind"]]
        tokenizer = kind.from_files(lambda name: (folder / name).read_bytes(), normalization)
        if settings["contents"] != digest(tokenizer.contents()):
            raise ValueError("its files do not match their digest")
        return tokenizer
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        remedy = (
            "Restore its files from a copy: each run and each export contains its vocabulary. "
            "t2t-prepare and t2t-import write vocabularies"
        )
        is_vocabulary = (folder / "tokenizer.json").exists()
        if not is_vocabulary and (folder / "vocabulary").is_dir():  # encoded data or a run
            remedy = f"Give the folder inside it: {folder / 'vocabulary'}"
        raise ValueError(f"{folder} holds no readable vocabulary ({error}). {remedy}") from error
