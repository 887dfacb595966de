"""Sentences of the toy grammar, joined to lines."""

from t2t_keras.reproduction.arguments.chained_text import chained_lines, random_lengths, size


def test_punctuation_marks_count_and_the_longer_language_decides():
    assert size([("I see him.", "Ich sehe, dass er da ist.")]) == 8
    assert size([("I see him.", "Ich sehe ihn."), ("Yes.", "Ja.")]) == 6


def test_a_line_is_filled_but_has_at_least_one_sentence():
    lines = chained_lines([1, 60], "test")
    assert lines[0][0].count(".") + lines[0][0].count("?") == 1
    assert size([lines[1]]) > 30
    assert len(lines[1][0].split(". ")) > 1
    assert chained_lines([1, 60], "test") == lines


def test_random_lengths_reach_the_longest():
    assert set(random_lengths(500, 20)) == set(range(1, 21))
