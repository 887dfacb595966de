"""Small tokenizers of all kinds, each made once per process, and texts to test them on."""

import functools
import random

from support.importing.small_sentencepiece import pieces_of, unigram_model

from pipelines.text.normalization import Normalization
from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from pipelines.tokenizers.separated_tokens import TokenTokenizer
from pipelines.tokenizers.tensor2tensor_subwords import SubwordTokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.toy.grammar import pairs

TOY_TEXTS = [text for pair in pairs(500) for text in pair]
UGLY_TEXTS = [
    *("", "   ", "two  spaces\tand\u00a0more ", "NUL \x00 and BEL \x07"),
    *("e\u0301 is é, o\u0308 is ö", "🙂 👨\u200d👩\u200d👧 🏳️\u200d🌈", "שלום עולם \u202e und عربي"),
    *(
        "zero\u200bwidth \ufeffmark",
        "日本語のテキスト、한국어",
        "x" * 1_500,
        "Der Hund. " * 200,
        "é" * 1_500,
    ),
    "<s> </s> <pad> <unk> <0x41> ▁padding ##▁Hund ## #",
    "line\nbreaks\r\nand\u2028others\u0085",
    "\u2047 ⁇ \ufffd",
    "\U0010ffff\ue000",
    b"not \xff\xfe UTF-8 \xed\xa0\x80 \xf0\x9f",
    *(bytes(random.Random(seed).choices(range(256), k=30)) for seed in range(100)),
    *("".join(map(chr, random.Random(s).choices(range(0x20, 0x2FF), k=20))) for s in range(100)),
]
KINDS = ["bpe", "bpe without bytes", "word_pieces"]
IMPORTED_KINDS = ["tokens", "sentencepiece", "sentencepiece with bytes", "subwords"]
PLAIN = Normalization(nfc=False, control_characters=False, space_sign=False)
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
CODES = [">>de<<", ">>zh Hans<<", ">><<"]
# The table of `mapped_sentencepiece` lacks some pieces of the model and has others.
MISSING = ["▁the", "ü", "."]
UNKNOWN_TO_MODEL = ["日", "本語", "🙂", "é"]
LETTERS = sorted({c for text in TOY_TEXTS for c in text} | set("\\_u;0123456789éß日'<>( pad"))
LONGER = ["the_", "th", "he_", "._", ", _", " (_", "ing_", "日_", "\\8364;_", "\\u_", "12", "ab_"]
SUBWORDS = ["<pad>", "<s>", "<EOS>", "<unk>", *LETTERS, *LONGER, "", ""]


@functools.cache
def toy_tokenizer(kind):
    """Returns a tokenizer; one of `KINDS` has 500 pieces, learned from `TOY_TEXTS`."""
    if kind == "tokens":
        tokens = [*SPECIAL, "a", "Hund.", "中", "<0x41>", "▁padding", ">>de<<"]
        return TokenTokenizer(tokens, PLAIN, begin=True)
    if kind == "subwords":
        return SubwordTokenizer(SUBWORDS, PLAIN)
    if kind == "sentencepiece":
        return mapped_sentencepiece(begin=True)
    if kind == "sentencepiece with bytes":
        return mapped_sentencepiece(True, Normalization(), codes=False)
    config = VocabularyConfig(kind=kind.split()[0], size=500)
    config.byte_fallback = kind == "bpe"
    return learn(map(Normalization(), TOY_TEXTS), config)


@functools.cache
def mapped_sentencepiece(byte_fallback=False, normalization=PLAIN, codes=True, begin=False):
    """Returns a SentencePiece model with a table in another order."""
    model = unigram_model(420 if byte_fallback else 160, byte_fallback=byte_fallback)
    return MappedSentencePiece(model, table_for(model), normalization, codes, begin)


def table_for(model):
    others = (*MISSING, *SPECIAL, *CODES)
    pieces = [piece for piece in reversed(pieces_of(model)) if piece not in others]
    return [*SPECIAL, *CODES, *pieces, *UNKNOWN_TO_MODEL]
