import random
import unicodedata

import pytest
import tensorflow as tf

from pipelines.text.normalization import Normalization
from pipelines.tokenizers.graph_tokenizers import normalize

CATEGORIES = {chr(code): unicodedata.category(chr(code)) for code in range(0x110000)}
CHARACTERS = [each for each, category in CATEGORIES.items() if category not in ("Cn", "Co", "Cs")]
SEPARATORS = [each for each, category in CATEGORIES.items() if category in ("Cc", "Zl", "Zp", "Zs")]


def assert_same_in_graph(texts, normalization):
    in_graph = normalize(tf.constant(texts), normalization).numpy().tolist()
    expected = [normalization(text).encode() for text in texts]
    assert not [(t, f, e) for t, f, e in zip(texts, in_graph, expected, strict=True) if f != e][:3]


@pytest.mark.parametrize(("nfc", "control_characters"), [(True, True), (False, False)])
def test_every_character_is_normalized_equally_in_a_graph(nfc, control_characters):
    contexts = [f"a{character}b {character}" for character in CHARACTERS]
    texts = [" ".join(contexts[i : i + 64]) for i in range(0, len(contexts), 64)]
    texts += [f"{character}a{character}" for character in [*SEPARATORS, "▁"]]
    texts = [text.encode() for text in texts]
    assert_same_in_graph(texts, Normalization(nfc, control_characters))


def test_combining_marks_and_malformed_utf8_are_normalized_equally_in_a_graph():
    choices = random.Random(0)
    marks = [character for character in CHARACTERS if unicodedata.combining(character)]
    texts = [f"e{''.join(choices.choices(marks, k=choices.randint(1, 5)))}" for _ in range(5000)]
    texts = [text.encode() for text in texts]
    likely = [0xED, 0xA0, 0xE2, 0x82, 0xF0, 0x9F, 0xC3, 0x20, 0xF4, 0x90, 0xC0, 0xE0, 0x61]
    for _ in range(5000):
        texts.append(bytes(choices.choice([choices.randrange(256), *likely]) for _ in range(8)))
    assert_same_in_graph(texts, Normalization())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a \t b\u00a0\u2003c\u2028d\n", "a b c d"),
        ("e\u0301", "é"),
        ("a\x00b \x07 c", "ab c"),
        ("e\x00\u0301", "é"),
        ("zero\u200bwidth 👨\u200d👩", "zero\u200bwidth 👨\u200d👩"),
        ("▁a▁b", "a b"),
        (b"a\xff\xfeb", "a\ufffd\ufffdb"),
        ("lone \ud800 half", "lone \ufffd\ufffd\ufffd half"),
    ],
)
def test_normalized_text(text, expected):
    assert Normalization()(text) == expected


def test_normalized_text_is_not_changed_again():
    choices = random.Random(0)
    parts = ["e", "\u0301", "\x00", " ", "▁", "\u200d", "\u1100", "\u1161", "\u2000", "\ud800"]
    for _ in range(5000):
        once = Normalization()("".join(choices.choices(parts, k=6)))
        assert Normalization()(once) == once


def test_each_setting_can_be_turned_off():
    assert Normalization(nfc=False)("e\u0301") == "e\u0301"
    assert Normalization(control_characters=False)("a\x00b") == "a\x00b"
    assert Normalization(space_sign=False)("▁a") == "▁a"
