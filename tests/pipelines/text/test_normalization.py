import random
import unicodedata

import pytest
import tensorflow as tf

from pipelines.text.normalization import Normalization
from pipelines.tokenizers.graph_tokenizers import normalize

EVERY_CHARACTER = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
SEPARATORS = [c for c in EVERY_CHARACTER if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Zs")]


def assert_same_in_graph(texts, normalization):
    in_graph = normalize(tf.constant(texts), normalization).numpy().tolist()
    expected = [normalization(text).encode() for text in texts]
    different = [(t, f, e) for t, f, e in zip(texts, in_graph, expected, strict=True) if f != e]
    assert not different[:3]


@pytest.mark.parametrize("nfc", [True, False])
@pytest.mark.parametrize("control_characters", [True, False])
def test_every_character_is_normalized_equally_in_a_graph(nfc, control_characters):
    normalization = Normalization(nfc, control_characters)
    contexts = [f"a{character}b {character}" for character in EVERY_CHARACTER]
    texts = [" ".join(contexts[i : i + 64]) for i in range(0, len(contexts), 64)]
    texts += [f"{character}a{character}" for character in [*SEPARATORS, "▁"]]
    assert_same_in_graph([text.encode() for text in texts], normalization)


def test_combining_marks_are_normalized_equally_in_a_graph():
    choices = random.Random(0)
    marks = [character for character in EVERY_CHARACTER if unicodedata.combining(character)]
    texts = ["e" + "".join(choices.choices(marks, k=choices.randint(1, 5))) for _ in range(20000)]
    assert_same_in_graph([text.encode() for text in texts], Normalization())


def test_malformed_utf8_is_normalized_equally_in_a_graph():
    choices = random.Random(0)
    likely = [0xED, 0xA0, 0xE2, 0x82, 0xF0, 0x9F, 0xC3, 0x20, 0xF4, 0x90, 0xC0, 0xE0, 0x61]
    texts = [
        bytes(choices.choice([choices.randrange(256), *likely]) for _ in range(8))
        for _ in range(20000)
    ]
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
    ids=[
        "white space",
        "composition",
        "control characters",
        "control character before an accent",
        "joiners are kept",
        "space sign",
        "malformed bytes",
        "unpaired surrogate",
    ],
)
def test_normalized_text(text, expected):
    assert Normalization()(text) == expected
    assert Normalization()(expected) == expected


def test_normalized_text_is_not_changed_again():
    choices = random.Random(0)
    parts = ["e", "\u0301", "\x00", " ", "▁", "\u200d", "\u1100", "\u1161", "\u2000", "\ud800"]
    for _ in range(20000):
        text = "".join(choices.choices(parts, k=6))
        once = Normalization()(text)
        assert Normalization()(once) == once


def test_each_setting_can_be_turned_off():
    assert Normalization(nfc=False)("e\u0301") == "e\u0301"
    assert Normalization(control_characters=False)("a\x00b") == "a\x00b"
