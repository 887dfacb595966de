import pytest

from pipelines.text.treebank import DEEPEST, parse
from t2t_keras.runs.parsing import evaluate_lines, evaluate_run, leaf_symbol, repaired_line, tree_of


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
    assert repaired_line([], brackets, "XX") == ("", False)
    assert str(tree_of(line) or "") == line


def test_brackets_nested_too_deep_are_repaired_to_a_readable_tree():
    line, repaired = repaired_line(["a", "b"], "(S " * 5000, "XX")
    assert repaired and line.count("(S") == DEEPEST - 1
    assert tree_of(line).words() == ["a", "b"]


FOUR = "(S (NP (DT a) (NN b)) (VP (VB c) (RB d)))"
LONG = f"(S {'(NN a) ' * 41})"


def test_parses_are_scored_and_missing_ones_have_no_brackets():
    result = evaluate_lines([parse(FOUR), parse(FOUR), parse(LONG)], [FOUR, "", LONG])
    every, short = result.scores
    assert (every.sentences, every.failed) == (3, 1)
    assert (short.sentences, short.failed) == (2, 1)
    assert every.precision == 100 and every.recall == pytest.approx(100 * 4 / 7)
    assert result.parses == [FOUR, "", LONG] and result.repaired is None


class Parser:
    """A run that knows the brackets of each sentence."""

    folder, leaves = "runs/parser", ["tag", False]  # as preparation.json records them

    def __init__(self, outputs):
        self.outputs = outputs

    def prepared_with(self, name):
        assert name == "leaves"
        return self.leaves

    def translate(self, texts, on_progress, **options):
        assert options == {"split": "off", "weights": "best", "beam": 3}
        return [self.outputs[text] for text in texts]


def test_the_parses_of_a_run_are_completed_by_the_words(tmp_path):
    golds = [FOUR, FOUR.replace("a)", "x)"), "(S (NP (-NONE- *T*)))", LONG]
    (tmp_path / "gold.mrg").write_text("".join(f"( {gold} )\n" for gold in golds))
    brackets = "(S (NP DT NN )NP (VP VB RB )VP )S"
    run = Parser({"a b c d": brackets, "x b c d": brackets[:-3], "": "(S )S", "a " * 40 + "a": ""})
    result = evaluate_run(run, f"{tmp_path}/gold.mrg", weights="best", beam=3)
    assert result.parses == [FOUR, golds[1], "", ""]
    assert result.repaired == [1, 1]
    assert [score.failed for score in result.scores] == [1, 0]
    assert result.scores[1].f1 == 100 and result.scores[1].tagging_accuracy == 100


def test_leaves_are_those_of_the_data():
    run = Parser({})
    assert leaf_symbol(run) == leaf_symbol(run, "tag") == "tag"
    with pytest.raises(ValueError, match=r"was prepared with --leaves=tag. Received: XX"):
        leaf_symbol(run, "XX")
    run.leaves = None
    with pytest.raises(ValueError, match=r"runs/parser was not trained on trees"):
        leaf_symbol(run)
