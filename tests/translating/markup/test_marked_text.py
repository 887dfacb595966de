"""Marks placed in translations, without a model."""

import pytest
from support.text.generated_markup import check_document

from pipelines.markup.marked_text import pieces_of
from pipelines.markup.placeholders import escaped
from t2t_keras.translating.markup.marked_text import marked_text


def placed(text, words, pairs, markup="html"):
    """The translation of a text of one segment by given words."""
    pieces = pieces_of(text, markup)
    (segment,) = (piece for piece in pieces if not isinstance(piece, str))
    arguments = segment, words, segment.text.split(), words.split(), pairs
    output = marked_text(*arguments, lambda text: escaped(text, markup))
    return "".join(piece if isinstance(piece, str) else output for piece in pieces)


@pytest.mark.parametrize(
    ("text", "words", "pairs", "expected"),
    [
        ("the <b>big</b> dog", "le chien grand", [(0, 0), (2, 1), (1, 2)], "le chien <b>grand</b>"),
        ("<b>Hello</b>, you", "Hallo, du", [(0, 0), (1, 1)], "<b>Hallo</b>, du"),
        ("<b>a c</b> d", "A C D", [(0, 0), (1, 1), (2, 2)], "<b>A C</b> D"),
        ("<b>a <i>c</i></b> d", "D C A", [(0, 2), (1, 1), (2, 0)], "D <b><i>C</i> A</b>"),
        ("H<sub>2</sub>O is", "H2O ist", [(0, 0), (1, 1)], "H<sub>2</sub>O ist"),
        ("a </b> c <i> d", "A C D", [(0, 0), (1, 1), (2, 2)], "A</b> C <i>D"),
        ("You have %d mails", "Sie haben Mails", [(0, 0), (1, 1), (2, 2)], "Sie haben %d Mails"),
        ("Hello {name}, hi!", "Hallo, hi!", [(0, 0), (1, 1)], "Hallo {name}, hi!"),
        ("in 10&nbsp;km", "in 10 km", [(0, 0), (1, 1), (2, 2)], "in 10&nbsp;km"),
        ("a &lt; c <b>d</b>", "A < C D", [(0, 0), (1, 1), (2, 2), (3, 3)], "A &lt; C <b>D</b>"),
        ("<b>a</b> c {x}", "", [], "<b></b> {x}"),
        ("<i>a</i> c", "A C", [], "<i>A</i> C"),
        ("a <b>c</b> d", "A C D C", [(0, 0), (1, 1), (2, 2), (1, 3)], "A <b>C</b> D C"),
        ("a {x} c (d)", "5 %igen (c) {C}", [(0, 0), (1, 1), (2, 3)], "5 {x} %igen (c) {C}"),
    ],
)
def test_marks_go_where_the_alignment_says(text, words, pairs, expected):
    assert placed(text, words, pairs) == expected


def test_nothing_is_lost_by_a_translator_that_does_everything_wrong():
    for seed in range(75):
        check_document(seed)
