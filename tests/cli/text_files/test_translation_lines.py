"""The lines that t2t-translate writes."""

import json

import pytest

from t2t_keras.cli.text_files.translation_lines import Style, formatted, lines_of
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.words import Words

PLAIN = Style(scores=False, json=False, alignments=False, lines=3)
SCORES, ALIGNED = PLAIN._replace(scores=True), PLAIN._replace(alignments=True)
BOTH_COLUMNS, JSON = SCORES._replace(alignments=True), PLAIN._replace(json=True)


def translations(*texts, pairs=(), confidence=(None, None)):
    """Returns `Translation`s with scores −0.5, −1.25."""
    words = Words([], [], list(pairs))
    scored = zip(texts, (-0.5, -1.25), confidence, strict=False)
    return [Translation(text, score, [], words, rated) for text, score, rated in scored]


@pytest.mark.parametrize(
    ("style", "pairs", "lines"),
    [
        (PLAIN, [], ["ein Hund", "ein Tag", ""]),
        (SCORES, [], ["-0.5000\tein Hund", "-1.2500\tein Tag", ""]),
        (ALIGNED, [(0, 0), (2, 1)], ["ein Hund\t0-0 2-1", "ein Tag\t0-0 2-1", ""]),
        (BOTH_COLUMNS, [], ["-0.5000\tein Hund\t", "-1.2500\tein Tag\t", ""]),
    ],
)
def test_lines_are_formatted_and_missing_translations_are_empty(style, pairs, lines):
    found = translations("ein Hund", "ein\nTag", pairs=pairs)
    assert formatted("a dog", found, style) == lines
    written = lines_of(["a dog", "a day"], [found, found[:1]], style).decode()
    assert written == "".join(f"{line}\n" for line in [*lines, lines[0], "", ""])


@pytest.mark.parametrize(
    ("style", "line"),
    [
        (PLAIN, "ein\tHund"),
        (SCORES, "-0.5000\tein Hund"),
        (ALIGNED, "ein Hund\t0-0"),
        (BOTH_COLUMNS, "-0.5000\tein Hund\t0-0"),
    ],
)
def test_a_tab_of_a_translation_is_not_between_columns(style, line):
    found = translations("ein\tHund", pairs=[(0, 0)])
    assert formatted("a\tdog", found, style._replace(lines=1)) == [line]


@pytest.mark.parametrize(
    ("style", "alignment"), [(JSON, {}), (JSON._replace(alignments=True), {"alignment": [[0, 1]]})]
)
def test_an_object_is_one_line_in_plain_text(style, alignment):
    found = translations("ein\nTag", "ein Hund", pairs=[(0, 1)])
    (line,) = formatted("schläft\u2028", found, style)
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
    (line,) = formatted("a dog", found, JSON)
    fields = [each["confidence"] for each in json.loads(line)["translations"]]
    assert fields == [[1.0, 0.1235], []]
