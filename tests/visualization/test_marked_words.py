"""The words in which a reference and an output differ are marked; all others are not."""

import html
import re

import pytest

from t2t_keras.visualization.document import element, html_of
from t2t_keras.visualization.marked_words import LONGEST, marked, words_in


def shown(*texts):
    """Returns two texts with their marked words in brackets."""
    htmls = [html_of(element("p", *parts))[3:-4] for parts in marked(*texts)]
    return [html.replace("<mark>", "[").replace("</mark>", "]") for html in htmls]


@pytest.mark.parametrize(
    "expected",
    [
        ("Der [alte] Hund schläft.", "Der Hund schläft."),
        ("[Der alte] Hund schläft[!]", "[Ein] Hund schläft[.]"),
        ("[der der] der Hund", "der Hund"),
        ("", "[der  Hund]"),
        ("[狗]睡了。", "[猫]睡了。"),
        ("हिन्दी [में]", "हिन्दी"),
        ("a [&lt;b&gt; &amp;] c", "a c"),
    ],
)
def test_words_that_the_other_text_lacks_are_marked(expected):
    plain = (html.unescape(re.sub(r"[\[\]]", "", text)) for text in expected)
    assert shown(*plain) == list(expected)


@pytest.mark.parametrize("text", ["", " ", "  a,b  ", "¿Qué?", "«a»\u3000狗b🙂", "…", "x\ny"])
def test_words_and_signs_together_are_the_text(text):
    assert "".join(map("".join, words_in(text))) == text
    assert shown(text, text) == [html_of(element("p", text))[3:-4]] * 2


def test_longer_texts_are_not_compared():
    text = "a b " * LONGEST
    assert marked(text, "b") == ([text], ["b"])
