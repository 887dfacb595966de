"""Marian's vocabularies: SentencePiece models, YAML, JSON, or text with one token per line.

YAML files are parsed line by line, because YAML loaders change or lose some tokens: they treat
U+0085 as the end of a line, and do not read `~`, `no` and `1` as strings.
"""

import contextlib
import itertools
import json
import re
from typing import NamedTuple

import yaml

from t2t_keras.importing.accompanying_files import read_lines
from t2t_keras.importing.files.whole_file import reading
from t2t_keras.importing.ids import Ids
from t2t_keras.importing.sentencepiece_models import read_sentencepiece

SUFFIXES = (".spm", ".yml", ".yaml", ".json", ".txt")
# (current name, old name) of the special tokens; old vocabularies give them ids 0 and 1.
END = ("</s>", "eos")
UNKNOWN = ("<unk>", "UNK")


class Vocabulary(NamedTuple):
    names: dict  # {id: token}
    end: int  # id of the end token
    unknown: int  # id of the unknown token
    model: bytes | None = None  # contents of the SentencePiece model

    def pieces(self, size):
        """Returns the `Pieces` of the first `size` ids.

        Some models have ids without a token. Such an id gets a name that no text contains.
        """
        names = [self.names.get(id, f"<unused {id}>") for id in range(size)]
        kind = "tokens" if self.model is None else "sentencepiece"
        ids = Ids(size, end=self.end, unknown=self.unknown)
        return ids.pieces(names, kind=kind, model=self.model)


def read_vocabulary(path):
    """Returns the `Vocabulary` in a file. The suffix determines the format."""
    if path.suffix not in SUFFIXES:
        raise ValueError(
            f"{path} is not a vocabulary that is imported: its name must end with one of "
            f"{', '.join(SUFFIXES)}"
        )
    if path.suffix == ".spm":  # Marian uses the ids unchanged
        model, processor = read_sentencepiece(path)
        if processor.eos_id() < 0 or processor.unk_id() < 0:
            raise ValueError(f"{path} has no pieces for the end of a text and for unknown pieces")
        names = {id: processor.id_to_piece(id) for id in range(processor.get_piece_size())}
        return Vocabulary(names, processor.eos_id(), processor.unk_id(), model)
    lines = read_lines(path)
    if path.suffix == ".txt":
        return checked(zip(lines, itertools.count(), strict=False), path)
    text = "\n".join(lines)
    if not text.lstrip().startswith("{"):
        return checked(lines_of_yaml(lines, path), path)
    with reading(path, "JSON file"):  # JSON is valid YAML, so a .yml file may contain it
        pairs = json.loads(text, object_pairs_hook=list)
    return checked(pairs, path)


def lines_of_yaml(lines, path):
    """Yields (token, id) of lines such as `'!': 12`, or `? '!'` followed by `: 12`."""
    question = None
    for number, line in enumerate(lines, 1):
        if not line or line in ("---", "..."):
            continue
        if question is None and line.startswith("? "):
            question = line[2:]
            continue
        token, colon, id = line.rpartition(":")
        id = id.strip(" ")
        if not colon or not re.fullmatch("[0-9]{1,9}", id) or (question and token.strip(" ")):
            raise ValueError(
                f"{path}: line {number} must be a token, a colon and an id. Received: {line!r}"
            )
        yield unquoted(token if question is None else question), int(id)
        question = None


def unquoted(scalar):
    """Returns the string in a YAML scalar, or the scalar itself if it has no quotes."""
    scalar = scalar.strip(" ")
    if len(scalar) > 1 and scalar[0] == scalar[-1] == "'":
        return scalar[1:-1].replace("''", "'")
    if len(scalar) > 1 and scalar[0] == scalar[-1] == '"':
        with contextlib.suppress(yaml.YAMLError):
            text = yaml.load(scalar, yaml.BaseLoader)
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return scalar


def checked(pairs, path):
    """Returns the `Vocabulary` of pairs of a token and its id. Neither may occur twice."""
    ids, names = {}, {}
    for token, id in pairs:
        if type(id) is not int or id < 0:
            raise ValueError(f"{path}: the id of {token!r} must be a whole number. Received: {id}")
        if token in ids or id in names:
            raise ValueError(
                f"{path}: {token!r} with id {id} is there a second time, after "
                f"{names.get(id, token)!r} with id {ids.get(token, id)}"
            )
        ids[token], names[id] = id, token

    def special(id, tokens):
        """Returns a special token's id.

        In YAML and JSON, this is `id` if that id has the old name or is not in the file. Otherwise,
        it is the id of the current name.
        """
        if path.suffix != ".txt" and names.get(id, tokens[1]) == tokens[1]:
            names[id] = tokens[0] if tokens[0] not in ids else tokens[1]
            return id
        if tokens[0] not in ids:
            raise ValueError(f"{path} must have the token {tokens[0]}")
        return ids[tokens[0]]

    return Vocabulary(names, special(0, END), special(1, UNKNOWN))
