"""The lines that t2t-translate writes."""

import json

import pytest
from in_process import parsed_flags

from t2t_keras.cli.translation_lines import formatted, given_style, lines_of
from t2t_keras.translating.text_error import TextError
from t2t_keras.translating.translator import Translation

BOTH = [Translation("ein Hund", -0.5, []), Translation("ein\nTag", -1.25, [])]


@pytest.mark.parametrize(
    ("flags", "align", "lines"),
    [
        ([], None, ["ein Hund", "ein Tag", ""]),
        (["--scores"], None, ["-0.5000\tein Hund", "-1.2500\tein Tag", ""]),
        ([], lambda each: [(0, 0), (2, 1)], ["ein Hund\t0-0 2-1", "ein Tag\t0-0 2-1", ""]),
        (["--scores"], lambda each: [], ["-0.5000\tein Hund\t", "-1.2500\tein Tag\t", ""]),
    ],
)
def test_lines_are_formatted_and_missing_translations_are_empty(flags, align, lines):
    with parsed_flags("translate", *flags):
        assert formatted("a dog", BOTH, 3, align, given_style()) == lines


@pytest.mark.parametrize(
    ("flags", "align", "line"),
    [
        ([], None, "ein\tHund"),
        (["--scores"], None, "-0.5000\tein Hund"),
        ([], lambda each: [(0, 0)], "ein Hund\t0-0"),
        (["--scores"], lambda each: [(0, 0)], "-0.5000\tein Hund\t0-0"),
    ],
)
def test_a_tab_of_a_translation_is_not_between_columns(flags, align, line):
    with parsed_flags("translate", *flags):
        translation = [Translation("ein\tHund", -0.5, [])]
        assert formatted("a\tdog", translation, 1, align, given_style()) == [line]


def test_an_error_about_words_has_the_index_of_the_text():
    def refuse(*_):
        raise ValueError("too long")

    def refuse_second(translations):
        raise TextError(1, "too long")

    class Model:
        n_best, align, confidence = 1, None, None

    with parsed_flags("translate", "--json"):
        for align, confidence in ((refuse, None), (None, refuse_second)):
            model = Model()
            model.align, model.confidence = align, confidence
            with pytest.raises(TextError, match="too long") as raised:
                lines_of(["", "a dog"], [[], BOTH], model, given_style())
            assert raised.value.index == 1


@pytest.mark.parametrize(
    ("align", "alignment"), [(None, {}), (lambda each: [(0, 1)], {"alignment": [[0, 1]]})]
)
def test_an_object_is_one_line_in_plain_text(align, alignment):
    with parsed_flags("translate", "--json"):
        (line,) = formatted("schläft\u2028", BOTH[::-1], 3, align, given_style())
    assert "schläft\u2028" in line and "\n" not in line
    assert json.loads(line) == {
        "source": "schläft\u2028",
        "translations": [
            {"text": "ein Tag", "score": -1.25} | alignment,
            {"text": "ein Hund", "score": -0.5} | alignment,
        ],
    }


def test_an_object_has_a_rounded_confidence_for_each_word_of_each_translation():
    with parsed_flags("translate", "--json"):
        (line,) = formatted("a dog", BOTH, 2, None, given_style(), iter([[1.0, 0.123456], []]))
    fields = [each["confidence"] for each in json.loads(line)["translations"]]
    assert fields == [[1.0, 0.1235], []]
