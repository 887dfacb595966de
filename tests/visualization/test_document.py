"""HTML elements keep texts as texts."""

from t2t_keras.visualization.document import bar, element, html_of, picture, table


def test_elements_keep_the_order_of_texts_and_escape_them():
    tree = element("p", "a<", element("b", "&"), ">c", None, element("i"), "d", class_='"x"')
    assert html_of(tree) == '<p class="&quot;x&quot;">a&lt;<b>&amp;</b>&gt;c<i></i>d</p>'


def test_names_that_are_not_utf8_can_be_written():
    assert html_of(element("p", "a\udcff", title="\udcff")) == '<p title="?">a?</p>'


def test_numbers_in_tables_are_aligned_to_the_right():
    assert '<td class="number">1</td>' in html_of(table(["a", "b"], [["x", "1"]], numbers=[1]))


def test_bars_are_filled_by_their_share():
    assert "width: 25.0%" in html_of(bar(0.25))


def test_pictures_are_embedded_and_have_a_description():
    html = html_of(picture('a "b"', lambda file, data: file.write(data), b"abc"))
    assert html == '<img src="data:image/png;base64,YWJj" alt="a &quot;b&quot;">'
