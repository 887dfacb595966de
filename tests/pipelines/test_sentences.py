"""Sentences of texts, in Python and in a graph."""

import random
import subprocess
import sys

import pytest
import tensorflow as tf
from ugly_lines import ugly_lines

from pipelines import graph_sentences
from pipelines.sentences import split_sentences

# Each text with a bar where it is to be split.
SPLIT = [
    "He left. |She stayed! |Why? |I do not know",
    "Mr. Smith met Dr. Jones, e.g. at the U.S. Senate. |He left at 3 p.m. |The man stayed.",
    "Am 3. Mai kam z.B. Nr. 5 bzw. Frau Dr. Meier usw. |Der Rest kam im 21. Jahrhundert.",
    "z. B. die Zahl 3.14 bei Ludwig XIV. von Frankreich. |Im Jahr 1995. |Danach nicht.",
    "J. S. Bach and J.-P. Sartre met. |Then they left.",
    "No. |See No. 5 on p. 3. |It was 1995. |30 people came.",
    'He said "Stop!" |"No." she said. |(Really?) |Yes. |[So.] |„Gut.“ |Gehen wir.',
    "Wait... what? |Yahoo! is here… |Well. |¿Qué? |¡Sí!",
    "A man . |A woman .",
    "«\u00a0Oui\u00a0!\u00a0» |Il part.",
    "你好。|今天很好！|「行け！」と言った。 |はい？|そう。」|X",
    "यह है। |वह है।",
    "  First.  |Second.\t|Third.  ",
    "a title\n|and a line\r\n\u2028|next",
    "It was. |- I know. |He said 'Well!' - and left",
    "\n one line \n",
    "and so on. but not here, etc. and e.g. the end.",
    "",
    " ",
    "...",
]


def bars_at(text):
    sentences, separators = split_sentences(text)
    return "|".join(map("".join, zip(sentences, [*separators, ""], strict=True)))


@pytest.mark.parametrize("text", SPLIT)
def test_texts_are_split_at_the_ends_of_sentences(text):
    assert bars_at(text.replace("|", "")) == text


def test_sentences_and_separators_are_the_text_in_python_and_in_a_graph():
    draw = random.Random(0)
    alphabet = [*"ab.!?。」と(\"' \n A1,…\u00a0", "Mr.", "z.B.", "\r\n"]
    texts = [line.decode("utf-8", "replace") for line in ugly_lines(300, megabytes=0)]
    texts += ["".join(draw.choices(alphabet, k=30)) for _ in range(1000)]
    texts += [text.replace("|", "") for text in SPLIT]
    graph = tf.function(
        graph_sentences.split_sentences, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    for text, *in_graph in zip(texts, *(each.to_list() for each in graph(texts)), strict=True):
        sentences, separators = split_sentences(text)
        assert [[each.decode() for each in part] for part in in_graph] == [
            sentences,
            [*separators, ""],
        ]
        assert "".join(map("".join, zip(sentences, [*separators, ""], strict=True))) == text
    assert [each.to_list() for each in graph(tf.constant([], tf.string))] == [[], []]


def test_malformed_bytes_are_replaced_in_the_graph():
    sentences, _ = graph_sentences.split_sentences([b"A.\xff B. C"])
    assert sentences.to_list() == [["A.\ufffd B. C".encode()]]


def test_a_long_text_is_split_in_linear_time():
    for text in (
        "word. " * 30_000,
        "Word. " * 30_000,
        "." * 200_000,
        '("' * 50_000 + "\n" * 50_000,
    ):
        assert len(split_sentences(text).sentences) in (1, 2, 30_000)


SERVE = """
import sys, tensorflow as tf
split = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
print(split(text=tf.constant(["One. Two!"]))["sentences"].numpy().tolist())
assert not {"pipelines", "t2t_keras", "tensorflow_text"} & set(sys.modules)
"""


@pytest.mark.long
def test_a_saved_model_splits_without_this_package(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def split(text):
        return {"sentences": graph_sentences.split_sentences(text)[0].flat_values}

    module = tf.Module()
    module.split = split
    tf.saved_model.save(module, tmp_path / "model", signatures={"serving_default": split})
    result = subprocess.run(
        [sys.executable, "-c", SERVE, tmp_path / "model"],
        cwd=tmp_path,
        env={"PATH": "", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert result.stdout == "[b'One.', b'Two!']\n", result.stderr
