import pytest

from t2t_keras.evaluation.bleu import bleu


def test_the_signature_says_how_it_was_computed():
    result = bleu(["the cat sat on the mat"], ["the cat sat on the mat"])
    assert result.score == pytest.approx(100)
    assert "tok:13a" in result.signature and "case:mixed" in result.signature
    assert result.lines == 1


def test_case_and_order_of_lines_count():
    lines = ["The small dog sees the cat .", "A teacher reads an old letter ."]
    assert bleu([line.lower() for line in lines], lines).score < 100
    assert bleu(lines[::-1], lines).score < 10


def test_unequal_numbers_of_lines_are_refused():
    with pytest.raises(ValueError, match=r"same number of lines. Received: 1 and 2"):
        bleu(["a"], ["a", "b"])
