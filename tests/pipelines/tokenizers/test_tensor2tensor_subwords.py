"""tensor2tensor's sub-words, in Python and as a graph."""

import random

import pytest
import tensorflow as tf
from support.text.toy_tokenizers import PLAIN, SUBWORDS, TOY_TEXTS, UGLY_TEXTS, toy_tokenizer

from pipelines.tokenizers import words
from pipelines.tokenizers.tensor2tensor_subwords import SubwordTokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return toy_tokenizer("subwords")


@pytest.fixture(scope="module")
def graph(tokenizer):
    return tokenizer.in_graph()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the thing", ["the_", "th", "ing_"]),
        ("the, (the.", ["the_", ",", " (_", "the_", "._"]),
        ("a1b", ["a", "1", "b", "_"]),
        ("_\\", ["\\", "u", "\\", "\\", "_"]),
        ("the_the", ["the_", "\\u_", "the_"]),
        ("a€", ["a", "_", "\\8364;_"]),
        ("<pad>", ["<", "_", "p", "a", "d", "_", ">", "_"]),
        ("  the \n the ", ["the_", "the_"]),
    ],
)
def test_tokens_are_split_escaped_and_taken_longest_first(tokenizer, text, expected):
    assert tokenizer.pieces(tokenizer.encode([text])[0]) == expected
    assert tokenizer.decode(tokenizer.encode([text])) == [" ".join(text.split())]


def test_every_text_is_restored(tokenizer):
    texts = [*UGLY_TEXTS, *TOY_TEXTS[:50], *fuzz(100, seed=1)]
    assert tokenizer.decode(tokenizer.encode(texts)) == [PLAIN(text) for text in texts]


@pytest.mark.parametrize(
    ("joined", "text"),
    [
        ("a_,_b_", "a,b"),
        ("a_, _b_", "a, b"),
        ("__a____b_", "a b"),
        (" _a_ _", "a"),
        ("\\0008364;_", "€"),
        ("\\u\\\\u_", "_\\u"),
        ("\\\\8364;_", "\\8364;"),
        ("\\_u_", "\\u"),
        ("\\1114111;_", "\U0010ffff"),
        ("\\1114112;_", "\u3013"),
        ("\\55296;_", "\u3013"),
        ("\\99999999999999999999;_", "\u3013"),
        ("\\;a_", "\\;a"),
    ],
)
def test_escapes_are_resolved_and_words_get_a_space_between_them(tokenizer, graph, joined, text):
    ids = [SUBWORDS.index(character) for character in joined]
    assert tokenizer.decode([ids]) == [text]
    assert graph.detokenize(tf.constant([ids])).numpy()[0].decode() == text


def fuzz(count, seed):
    """Returns random texts: of all of Unicode, of characters with a meaning here, and of pieces."""
    choices = random.Random(seed)
    unicode = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    special = "ab _\\u;190,.' \u0301é日\u2581\u0085🙂²Ⅷ\u00a0"
    texts = []
    for number in range(count):
        length = choices.randrange(40)
        kinds = unicode, special, SUBWORDS[4:], [chr(code) for code in range(0x20, 0x2FF)]
        texts.append("".join(choices.choices(kinds[number % len(kinds)], k=length)))
    return texts


def test_ids_in_a_graph_equal_those_outside(tokenizer, graph):
    texts = [*fuzz(300, seed=2), *every_kind_of_character(), "", " "]
    expected = [ids.tolist() for ids in tokenizer.encode(texts)]
    texts = tf.constant([text.encode() for text in texts])
    assert tf.function(graph.tokenize)(texts).to_list() == expected
    assert graph.tokenize(tf.constant([], tf.string)).shape[0] == 0


def every_kind_of_character():
    """Returns texts with the characters at which letters and digits begin or stop."""
    kinds = [chr(code).isalnum() for code in range(0x110000)]
    edges = [code for code in range(1, len(kinds)) if kinds[code] != kinds[code - 1]]
    codes = [near for code in edges for near in (code - 1, code) if not 0xD800 <= near < 0xE000]
    return ["a".join(map(chr, codes[first : first + 50])) for first in range(0, len(codes), 50)]


def test_words_are_the_tokens_of_the_text(tokenizer):
    assert words(tokenizer, [*tokenizer.encode(["the thing, (the."])[0].tolist(), 2, 0]) == [
        *[("the", 1), ("thing", 2), (", (", 2), ("the", 1), (".", 1), ("</s>", 1), ("<pad>", 1)]
    ]


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ([*SUBWORDS, "xÖ_"], "none for Ö"),
        (SUBWORDS[:4], "none for 0 1 2 3"),
        ([*SUBWORDS, "\n"], "must not contain a line feed"),
    ],
)
def test_a_vocabulary_that_cannot_encode_every_text_is_refused(vocabulary, message):
    with pytest.raises(ValueError, match=message):
        SubwordTokenizer(vocabulary)
