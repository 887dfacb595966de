"""The lines that t2t-translate writes."""

import json

import pytest

from t2t_keras.cli.text_files.translation_lines import formatted, lines_of
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.words import Words

PLAIN = {"scores": False, "as_json": False, "alignments": False, "count": 3}


def translations(*texts, confidence=(None, None)):
    """Returns aligned `Translation`s with scores −0.5, −1.25."""
    words = Words([], [], [(0, 0), (2, 1)])
    scored = zip(texts, (-0.5, -1.25), confidence, strict=False)
    return [Translation(text, score, [], words, rated) for text, score, rated in scored]


@pytest.mark.parametrize(
    ("scores", "alignments", "lines"),
    [
        (False, False, ["ein\tHund", "ein Tag", ""]),
        (True, False, ["-0.5000\tein Hund", "-1.2500\tein Tag", ""]),
        (False, True, ["ein Hund\t0-0 2-1", "ein Tag\t0-0 2-1", ""]),
        (True, True, ["-0.5000\tein Hund\t0-0 2-1", "-1.2500\tein Tag\t0-0 2-1", ""]),
    ],
)
def test_columns_are_separated_by_tabs_and_absent_translations_are_empty(scores, alignments, lines):
    style = PLAIN | {"scores": scores, "alignments": alignments}
    found = translations("ein\tHund", "ein\nTag")
    assert formatted("a dog", found, **style) == lines
    written = lines_of(["a dog", "a day"], [found, found[:1]], **style).decode()
    assert written == "".join(f"{line}\n" for line in [*lines, lines[0], "", ""])


@pytest.mark.parametrize("alignment", [{}, {"alignment": [[0, 0], [2, 1]]}])
def test_an_object_is_one_line_in_plain_text(alignment):
    style = PLAIN | {"as_json": True, "alignments": bool(alignment)}
    (line,) = formatted("schläft\u2028", translations("ein\nTag", "ein Hund"), **style)
    assert "schläft\u2028" in line and "\n" not in line
    assert json.loads(line) == {
        "source": "schläft\u2028",
        "translations": [
            {"text": "ein Tag", "score": -0.5} | alignment,
            {"text": "ein Hund", "score": -1.25} | alignment,
        ],
    }


def test_an_object_has_a_rounded_confidence_for_each_word_of_each_translation():
    found = translations("ein Hund", "", confidence=[[1.0, 0.123456], []])
    (line,) = formatted("a dog", found, **PLAIN | {"as_json": True})
    assert [each["confidence"] for each in json.loads(line)["translations"]] == [[1.0, 0.1235], []]
