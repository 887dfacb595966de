"""Puts a `Normalization` into a SentencePiece model, for programs that use the model alone.

SentencePiece rewrites a text by a table of strings before it splits it. The table for NFC has every
canonical decomposition and every partial one, so marks in their usual order are composed. Two cases
remain: marks in an unusual order, and control characters between a letter and its mark.
"""

import functools
import re
import sys
import tempfile
import unicodedata
from pathlib import Path

import sentencepiece

from pipelines.text.normalization import CONTROL_CHARACTERS, SPACE_SIGN

WHITE_SPACE = re.compile(r"\s")
# Tags of Protocol Buffers: 8 times the number of the field, plus its type.
BYTES = 2
NORMALIZER_SPEC = 8 * 3 + BYTES  # in ModelProto
TABLE_PATH = 8 * 6 + BYTES  # in NormalizerSpec
ERROR = 2  # the lowest level of SentencePiece's log messages to show


def normalizing(model, normalization):
    """Returns a serialized SentencePiece model that normalizes text like `normalization`.

    Args:
        model: a serialized SentencePiece model that does not rewrite text.
        normalization: a `Normalization`.
    """
    # Concatenated messages of Protocol Buffers are merged: later fields replace earlier ones.
    return model + normalizer(normalization)


@functools.cache
def normalizer(normalization):
    """Returns a serialized SentencePiece model that has rules and no pieces."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rules.tsv"
        table.write_text("".join(map(line_of, rules_of(normalization).items())))
        sentencepiece.SetMinLogLevel(ERROR)
        try:
            rules = sentencepiece.SentencePieceNormalizer(rule_tsv=str(table))
        finally:
            sentencepiece.SetMinLogLevel(0)
    return without_path(rules.serialized_model_proto())


def without_path(model):
    """Returns a serialized model that has only a NormalizerSpec, without the path of its table."""
    ((_, spec),) = fields_of(model)
    spec = b"".join(encoded(tag, value) for tag, value in fields_of(spec) if tag != TABLE_PATH)
    return encoded(NORMALIZER_SPEC, spec)


def fields_of(message):
    """Yields (tag, value) of the fields of a message of Protocol Buffers: numbers and bytes."""
    at = 0
    while at < len(message):
        tag, at = number_at(message, at)
        value, at = number_at(message, at)
        if tag & 7 == BYTES:
            value, at = message[at : at + value], at + value
        yield tag, value


def encoded(tag, value):
    """Returns a field of a message; see `fields_of`."""
    if isinstance(value, int):
        return encoded_number(tag) + encoded_number(value)
    return encoded_number(tag) + encoded_number(len(value)) + value


def number_at(message, at):
    """Returns the number at an index, whose bytes have 7 bits each, and the index after it."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def encoded_number(number):
    digits = []
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


def line_of(rule):
    return "\t".join(" ".join(f"{ord(character):X}" for character in side) for side in rule) + "\n"


def rules_of(normalization):
    """Returns {string: its replacement}."""
    # The table cannot hold the character 0. Surrogates have no UTF-8 encoding.
    codes = (*range(1, 0xD800), *range(0xE000, sys.maxunicode + 1))
    characters = "".join(map(chr, codes))
    rules = {SPACE_SIGN: " "} if normalization.space_sign else {}
    if normalization.nfc:
        for character in characters:
            if not unicodedata.is_normalized("NFD", character):
                rules |= rules_of_character(character)
    if normalization.control_characters:
        rules |= dict.fromkeys("".join(CONTROL_CHARACTERS.findall(characters)), "")
    return rules | {space: " " for space in WHITE_SPACE.findall(characters) if space != " "}


def rules_of_character(character):
    """Returns the rules that compose a character, or replace it with its composed form."""
    parts = unicodedata.normalize("NFD", character)
    composed = unicodedata.normalize("NFC", character)
    partly = (
        unicodedata.normalize("NFC", parts[:count]) + parts[count:] for count in range(len(parts))
    )
    return {each: composed for each in (character, *partly) if each != composed}
