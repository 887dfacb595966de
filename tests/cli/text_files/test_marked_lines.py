"""The lines of a page, without a model."""

from t2t_keras.cli.text_files.marked_lines import MarkedLines
from t2t_keras.translating.translator import Translation

LINES = [
    *(
        b"\xef\xbb\xbf<p>A &amp;\xff c<!-- \xfe\r\n",
        b"\n",
        b" B\r//-->\r\r\n",
        b"<b>C</b> {x}</p>\n",
    ),
    b"D",
]


def as_it_is(pieces):
    return "".join(each if isinstance(each, str) else each.raw for each in pieces)


def test_a_page_keeps_all_bytes_that_are_not_translated():
    lines = MarkedLines("html", is_page=True)
    pieces, numbers = lines.divided(LINES)
    texts = [[each.text for each in row if not isinstance(each, str)] for row in pieces]
    assert texts == [["A &\ufffd c C"], ["D"]]
    assert numbers == [0, 4]
    results = [[Translation(as_it_is(each), 0.0, [])] for each in pieces]
    assert lines.page(results) == b"".join(LINES)


def test_an_output_of_objects_is_utf_8_with_a_line_feed_at_the_end_of_each():
    pieces, numbers = MarkedLines("html", is_page=False).divided(LINES)
    output = "".join(f"{as_it_is(each)}\n" for each in pieces)
    assert output == "<p>A &amp;\ufffd c<!-- \ufffd\n\n B\r//-->\n<b>C</b> {x}</p>\nD\n"
    assert numbers == [*range(5)]
