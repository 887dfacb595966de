"""Tokenizers of the toy grammar, each learned once per process, and texts to test them on."""

import functools
import random

from pipelines.text.normalization import Normalization
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.toy.grammar import pairs

TOY_TEXTS = [text for pair in pairs(500) for text in pair]
UGLY_TEXTS = [
    "",
    "   ",
    "two  spaces\tand\u00a0more ",
    "NUL \x00 and BEL \x07",
    "e\u0301 is é, o\u0308 is ö",
    "🙂 👨\u200d👩\u200d👧 🏳️\u200d🌈",
    "שלום עולם \u202e und عربي",
    "zero\u200bwidth \ufeffmark",
    "日本語のテキスト、한국어",
    "x" * 10_000,
    "Der Hund. " * 1_000,
    "é" * 10_000,
    "<s> </s> <pad> <unk> <0x41> ▁padding ##▁Hund ## #",
    "line\nbreaks\r\nand\u2028others\u0085",
    "\u2047 ⁇ \ufffd",
    "\U0010ffff\ue000",
    b"not \xff\xfe UTF-8 \xed\xa0\x80 \xf0\x9f",
    *(bytes(random.Random(seed).choices(range(256), k=30)) for seed in range(200)),
    *("".join(map(chr, random.Random(s).choices(range(0x20, 0x2FF), k=20))) for s in range(200)),
]
KINDS = ["bpe", "bpe without bytes", "word_pieces"]


@functools.cache
def toy_tokenizer(kind):
    """Returns a tokenizer with 500 pieces, learned from `TOY_TEXTS`."""
    config = VocabularyConfig(kind=kind.split()[0], size=500)
    config.byte_fallback = kind == "bpe"
    return learn(map(Normalization(), TOY_TEXTS), config)
