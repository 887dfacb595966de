"""A SentencePiece model alone finds the pieces that the tokenizer finds in a normalized text."""

import unicodedata

import sentencepiece
from support.runs.untrained import learned_tokenizer

from pipelines.text.normalization import SPACE_SIGN, Normalization
from pipelines.tokenizers.byte_pairs import BytePairTokenizer
from pipelines.tokenizers.normalizing_sentencepiece import normalizing

CHARACTERS = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]


def different(tokenizer, texts):
    """Returns the texts with other pieces in a program that uses the model alone."""
    model = normalizing(tokenizer.model, tokenizer.normalization)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pairs = zip(tokenizer.encode(texts), processor.encode(texts), strict=True)
    return [text for text, (ours, alone) in zip(texts, pairs, strict=True) if list(ours) != alone]


def test_every_decomposition_space_and_control_character_is_normalized():
    parts = (unicodedata.normalize("NFD", character) for character in CHARACTERS)
    texts = [f"a {part}b" for part, one in zip(parts, CHARACTERS, strict=True) if part != one]
    assert len(texts) > 13_000
    texts = texts[::3] + [f"a {character}b" for character in CHARACTERS[:0x3400]]
    texts += ["", "   ", f"{SPACE_SIGN}a \t b\n", "<s> </s>", "u\u0308\u0304 and u\u0308"]
    assert different(learned_tokenizer(), texts) == []


def test_settings_that_are_off_change_nothing():
    off = Normalization(nfc=False, control_characters=False, space_sign=False)
    tokenizer = BytePairTokenizer(learned_tokenizer().model, off)
    assert different(tokenizer, ["u\u0308 x", "a\x07b", f"a {SPACE_SIGN} b", " a\u2003b "]) == []
