import random

import pytest
from support.text.ugly_lines import ugly_lines

from pipelines.text.sentences import split_sentences

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
    *("", " ", "..."),
]


def parts_of(text):
    """Returns each sentence with the separator after it."""
    sentences, separators = split_sentences(text)
    return list(map("".join, zip(sentences, [*separators, ""], strict=True)))


@pytest.mark.parametrize("text", SPLIT)
def test_texts_are_split_at_the_ends_of_sentences(text):
    assert "|".join(parts_of(text.replace("|", ""))) == text


def test_sentences_and_separators_are_the_text():
    draw = random.Random(0)
    alphabet = [*"ab.!?。」と(\"' \n A1,…\u00a0", "Mr.", "z.B.", "\r\n"]
    texts = [line.decode("utf-8", "replace") for line in ugly_lines(300, megabytes=0)]
    texts += ["".join(draw.choices(alphabet, k=30)) for _ in range(1000)]
    for text in texts:
        assert "".join(parts_of(text)) == text


@pytest.mark.parametrize("repeated", ["word. ", "Word. ", ".", '("'])
def test_a_long_text_is_split_in_linear_time(repeated):
    sentences, _ = split_sentences(repeated * 20_000 + "\n" * 20_000)
    assert len(sentences) == (20_000 if repeated == "Word. " else 1)
