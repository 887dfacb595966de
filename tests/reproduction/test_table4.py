"""Table 4: from trees to F1, at a size that trains in seconds."""

import pytest
from support.runs.reproduced import TINY, cells, reproduce_command, started_stages, write_lines

from pipelines.text.treebank import read_trees
from t2t_keras.evaluation.bracketing import bracketing
from t2t_keras.reproduction import Plan, reproduce
from t2t_keras.runs.parsing import tree_of
from t2t_keras.runs.run import Run
from t2t_keras.runs.text_files import read_lines

DETERMINERS, NOUNS, VERBS = ("the", "a"), ("dog", "cat", "bird"), ("sees", "hears", "likes", "has")


def trees(count):
    """Yields trees in the format of the Penn Treebank's files."""
    for index in range(count):
        one, two, verb = DETERMINERS[index % 2], NOUNS[index % 3], VERBS[index // 6 % 4]
        clause = f"(NP-SBJ (DT {one}) (NN {two})) (VP (VBZ {verb}) (NP (NN x{index})))"
        yield f"( (S {clause} (ADVP (-NONE- *T*-1))) )"


@pytest.fixture(scope="module")
def treebanks(tmp_path_factory):
    """Settings of a plan: trees to train on, automatic ones, and 12 to score, one of them seen."""
    folder = tmp_path_factory.mktemp("treebanks")
    return {
        "train": str(write_lines(folder / "train.mrg", trees(40))),
        "automatic": str(
            write_lines(folder / "automatic", ["(S (NP (NN it)) (VP (VBZ rains)))"] * 30)
        ),
        "ratio": 1.5,
        "dev": str(write_lines(folder / "dev.mrg", list(trees(51))[39:])),
    }


@pytest.fixture(scope="module")
def table(treebanks, tmp_path_factory):
    """The output folder of a table, and the command's result."""
    folder = tmp_path_factory.mktemp("table4")
    reductions = {"divide": 64, "divide_layers": 4, "steps": 2}
    reductions["first"] = "parsing:semi_supervised"
    result = reproduce_command(
        "table4",
        f"--output={folder}",
        *(f"--{name}={value}" for name, value in (treebanks | reductions).items()),
        overrides=TINY | {"data.vocabulary.size": 310, "search.extra_length": 9},
    )
    assert result.returncode == 0, result.stderr
    return folder, result


@pytest.mark.nightly
def test_trees_become_a_run_and_its_parses_are_scored(treebanks, table, tmp_path):
    folder, result = table
    expected = ["prepare", "train-first", "train", "average", "parse-dev"]
    expected += ["parse-dev-constrained"]
    assert started_stages(result.stderr) == [f"parsing: {stage}" for stage in expected]
    assert Run(folder / "run").init() == str(folder / "first")
    for text in (
        "2 steps with the settings of parsing:semi_supervised",
        "60 automatic trees",
        "d_model 16 (paper 1,024)",
    ):
        assert text in result.stdout
    lines = cells(folder / "table4.csv")
    f1 = {(row["parser"], row["mode"]): row["paper F1, WSJ 23"] for row in lines}
    assert f1["the paper's Transformer", "gold trees only"] == "91.3"
    assert f1["Dyer et al. (2016), RNN Grammar", "generative"] == "93.3"
    any_output, constrained = [row for row in lines if row["parser"] == "ours"]
    golds = list(read_trees(treebanks["dev"]))
    for row, name, outputs in (
        (any_output, "dev.trees", "any"),
        (constrained, "dev-constrained.trees", "trees only"),
    ):
        parses = [tree_of(line) for line in read_lines(folder / name)]
        assert row["outputs"] == outputs
        assert row["F1"] == f"{bracketing(golds[1:], parses[1:])[0].f1:.2f}"
        assert row["F1 with these"] == f"{bracketing(golds, parses)[0].f1:.2f}"
        assert (row["sentences"], row["also in training"]) == ("11", "1")
        assert row["mode"] == "semi-supervised"
        assert row["trees trained on"] == "100", "60 automatic and 40 gold"
    assert int(any_output["repaired"]) + int(any_output["failed"]) == 12, "two steps teach nothing"
    assert (constrained["repaired"], constrained["failed"]) == ("0", "0")
    given = {name: treebanks[name] for name in ("train", "dev")}
    with pytest.raises(ValueError, match=r"was trained on different trees\. --train must name"):
        reproduce(Plan("table4", run=folder / "run", output=tmp_path, **given))


def test_a_treebank_that_the_model_was_trained_on_is_refused(treebanks, tmp_path):
    plan = Plan("table4", train=treebanks["dev"], dev=treebanks["dev"], output=tmp_path)
    with pytest.raises(ValueError, match=r"12 of 12 sentences of .* are in the training text"):
        reproduce(plan)
