import pytest

from pipelines.treebank import DEEPEST
from t2t_keras.runs.parsing import repaired_line, tree_of


@pytest.mark.parametrize(
    ("brackets", "line", "repaired"),
    [
        ("(S (NP XX )NP XX )S", "(S (NP (XX a)) (XX b))", False),
        ("(S (NP XX )NP XX", "(S (NP (XX a)) (XX b))", True),
        ("XX XX", "(TOP (XX a) (XX b))", True),
        ("", "", False),
    ],
)
def test_an_output_becomes_a_tree_over_the_words(brackets, line, repaired):
    assert repaired_line(["a", "b"], brackets, "XX") == (line, repaired)
    assert str(tree_of(line) or "") == line


def test_a_sentence_without_words_has_no_tree():
    assert repaired_line([], "(S XX )S", "XX") == ("", False)


def test_brackets_nested_too_deep_are_repaired_to_a_readable_tree():
    line, repaired = repaired_line(["a", "b"], "(S " * 5000, "XX")
    assert repaired and line.count("(S") == DEEPEST - 1
    assert tree_of(line).words() == ["a", "b"]
