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

import sentencepiece

from pipelines.text.normalization import CONTROL_CHARACTERS, SPACE_SIGN

WHITE_SPACE = re.compile(r"\s")
# A serialized model with only field 3, a NormalizerSpec, whose field 6, the path of a table, is "".
# SentencePiece's module for Protocol Buffers needs a newer version of them than TensorFlow allows.
WITHOUT_PATH = bytes([8 * 3 + 2, 2, 8 * 6 + 2, 0])
ERROR = 2  # the lowest level of SentencePiece's log messages to show


def normalizing(model, normalization):
    """Returns a serialized SentencePiece model that normalizes text like a `Normalization`.

    `model` is a serialized model that does not rewrite text.
    """
    # Concatenated messages of Protocol Buffers are merged: later fields replace earlier ones.
    merged = model + normalizer(normalization) + WITHOUT_PATH
    return sentencepiece.SentencePieceProcessor(model_proto=merged).serialized_model_proto()


@functools.cache
def normalizer(normalization):
    """Returns a serialized SentencePiece model that has rules and no pieces."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as table:
        for rule in rules_of(normalization).items():
            codes = (" ".join(f"{ord(character):X}" for character in side) for side in rule)
            table.write("\t".join(codes) + "\n")
        table.flush()
        sentencepiece.SetMinLogLevel(ERROR)
        try:
            rules = sentencepiece.SentencePieceNormalizer(rule_tsv=table.name)
        finally:
            sentencepiece.SetMinLogLevel(0)
    return rules.serialized_model_proto()


def rules_of(normalization):
    """Returns {string: its replacement}."""
    # The table cannot hold the character 0. Surrogates have no UTF-8 encoding.
    codes = (*range(1, 0xD800), *range(0xE000, sys.maxunicode + 1))
    characters = "".join(map(chr, codes))
    rules = {SPACE_SIGN: " "} if normalization.space_sign else {}
    for character in characters if normalization.nfc else "":
        parts, composed = (unicodedata.normalize(form, character) for form in ("NFD", "NFC"))
        if parts != character:
            partly = (
                unicodedata.normalize("NFC", parts[:n]) + parts[n:] for n in range(len(parts))
            )
            rules |= {each: composed for each in (character, *partly) if each != composed}
    if normalization.control_characters:
        rules |= dict.fromkeys("".join(CONTROL_CHARACTERS.findall(characters)), "")
    return rules | {space: " " for space in WHITE_SPACE.findall(characters) if space != " "}
