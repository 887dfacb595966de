"""t2t-reproduce's tables of trained models, at sizes that train in seconds."""

import csv
import math
import re

import pytest
from commands import command

from pipelines.mixed_treebank import amounts, write_mixed
from pipelines.toy_grammar import pairs
from pipelines.treebank import read_trees
from t2t_keras.evaluation.bleu import bleu
from t2t_keras.evaluation.bracketing import bracketing
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.experiment import find_config, load_config_file, load_experiment
from t2t_keras.reproduction.recipes import shorten
from t2t_keras.reproduction.table2 import RECIPES
from t2t_keras.runs.lines import read_lines
from t2t_keras.runs.parsing import tree_on
from t2t_keras.training.checkpoints import Checkpoints
from t2t_keras.training.training_config import TrainingConfig

SEARCH = ["--config.search.beam=2", "--config.search.extra_length=0"]
TINY = [
    "--config.data.vocabulary.size=400",
    "--config.data.batches.tokens=512",
    "--config.data.batches.max_length=64",
    *SEARCH,
]


def reproduce(*arguments, at_stage=()):
    return command("reproduce", *arguments, at_stage=dict(at_stage))


def written(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def cells(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def stages(result):
    """The stages that were begun: "base: train", …"""
    return [line.split(",")[0] for line in result.stderr.splitlines() if ", see " in line]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A small parallel text, `train`, and two test sets, `one` and `two`."""
    folder = tmp_path_factory.mktemp("corpus")
    made = {"train": pairs(400), "one": pairs(20, "test"), "two": pairs(10, "test", seed=1)}
    for name, texts in made.items():
        for side, lines in zip(("en", "de"), zip(*texts, strict=True), strict=True):
            written(folder / f"{name}.{side}", lines)
    return folder


SETTINGS = """
from t2t_keras.experiment import load_experiment


def get_config(variant=""):
    experiment = load_experiment("multi30k")
    model, training, data = experiment.model, experiment.training, experiment.data
    model.num_layers, model.d_model, model.d_ff, model.num_heads = 1, 16, 16, 2
    training.learning_rate = 0.5
    data.vocabulary.size, data.batches.tokens, data.batches.max_length = 400, 512, 64
    return experiment
"""


def test_table2_from_text_to_bleu_and_cost(corpus, tmp_path):
    (tmp_path / "mine.py").write_text(SETTINGS)
    arguments = [
        *("table2", "--rows=ende_base", f"--output={tmp_path / 'out'}", "--steps=200"),
        *(f"--reduced={tmp_path / 'mine.py'}", *SEARCH),
        *(f"--source={corpus}/train.en", f"--target={corpus}/train.de"),
        f"--test_source={corpus}/one.en,{corpus}/two.en",
        f"--test_target={corpus}/one.de,{corpus}/two.de",
    ]
    stopped = reproduce(*arguments, at_stage={1: "during SIGINT"})
    assert stopped.returncode == 130
    assert "interrupted. The same command goes on from here" in stopped.stderr
    row = tmp_path / "out" / "ende_base"
    assert "SIGINT was received: step" in (row / "logs" / "train.log").read_text()
    begun = Checkpoints(row / "run" / "checkpoints").steps()
    assert begun and begun[-1] < 200
    result = reproduce(*arguments)
    assert result.returncode == 0, result.stderr
    names = ["train", "average", "translate-one", "translate-two"]
    assert stages(result) == [f"ende_base: {name}" for name in names], "prepare was done"
    one, two = cells(tmp_path / "out" / "table2.csv")
    assert (one["test set"], one["lines"], two["test set"]) == ("one", "20", "two")
    assert (one["paper BLEU, newstest2014"], one["paper FLOPs"]) == ("27.3", "3.3e+18")
    assert (one["settings"], one["steps"], one["pairs trained on"]) == ("reduced", "200", "400")
    for line in (one, two):
        texts = [row / f"{line['test set']}.out", corpus / f"{line['test set']}.de"]
        hypotheses, references = (read_lines(path) for path in texts)
        assert line["sacreBLEU"] == f"{bleu(hypotheses, references).score:.2f}"
        assert line["BLEU"] == f"{paper_bleu(hypotheses, references, 'de').score:.2f}"
    assert float(one["FLOPs"]) > 0
    assert (tmp_path / "out" / "table2.md").read_text() == result.stdout
    assert "model.d_model 16 (paper 512)" in result.stdout
    assert "data.vocabulary.size 400 (paper 37,000)" in result.stdout
    assert "the last 5 checkpoints averaged (up to step 200)" in result.stdout
    assert "tok:13a" in result.stdout and "compounds split" in result.stdout

    again = reproduce(*arguments)
    assert undated(again) == undated(result) and stages(again) == []
    (tmp_path / "mine.py").write_text(SETTINGS.replace("0.5", "0.25"))
    other = reproduce(*arguments)
    assert other.returncode == 2 and stages(other) == []
    said = r"run was trained with training\.learning_rate=\S+, and not \S+: .* another --output"
    assert re.search(said, other.stderr.splitlines()[-1])
    evaluated = reproduce(
        *("table2", "--rows=ende_base", f"--output={tmp_path / 'other'}"),
        *(f"--run={row / 'run'}", *SEARCH),
        *(f"--test_source={corpus}/one.en", f"--test_target={corpus}/one.de"),
    )
    assert stages(evaluated) == ["ende_base: translate-one"], evaluated.stderr
    assert cells(tmp_path / "other" / "table2.csv")[0] == one
    assert "its averaged weights" in evaluated.stdout


def undated(result):
    """What a table says, without the lines of its circumstances."""
    return result.stdout.splitlines()[:-2]


def test_table3_goes_on_where_it_was_killed(tmp_path):
    arguments = [
        *("table3", "--rows=base,big", "--divide=32", "--divide_layers=6", *TINY),
        *("--steps=2", "--config.data.toy_pairs=400", f"--output={tmp_path}"),
        *("--config.model.dropout=0.2", "--config.training.warmup_steps=1"),
    ]
    killed = reproduce(*arguments, at_stage={4: "before SIGKILL"})
    assert killed.returncode == -9
    assert stages(killed)[-2:] == ["base: translate", "big: train"]
    broken = reproduce(*arguments, at_stage={0: "stage SIGKILL"})
    assert broken.returncode == 2
    assert "big: train failed (exit code -9)" in broken.stderr
    assert f"{tmp_path}/big/logs/train.log" in broken.stderr.splitlines()[-1]
    result = reproduce(*arguments)
    assert result.returncode == 0, result.stderr
    rest = ["big: train", "big: score", "big: translate"]
    assert stages(result) == rest, "what was done is not done again"
    base, big = cells(tmp_path / "table3.csv")
    assert big["what differs"].startswith("d_model 32, d_ff 128, num_heads 16, dropout 0.3")
    assert "model.dropout 0.2 (paper 0.1)" in result.stdout
    assert (base["steps"], big["steps"]) == ("2", "6"), "three times as many, as in the paper"
    assert (big["paper PPL"], big["paper PPL − base"]) == ("4.33", "-0.59")
    assert float(big["10⁶ weights − base"]) > 0 and base["10⁶ weights − base"] == "+0.000"
    for row in (base, big):
        folder = tmp_path / row["row"]
        scores = [line.split("\t") for line in read_lines(folder / "dev.scores")]
        log_p, pieces = sum(float(s[0]) for s in scores), sum(int(s[2]) for s in scores)
        assert float(row["PPL"]) == pytest.approx(math.exp(-log_p / pieces), abs=1e-3)
        texts = read_lines(folder / "dev.out"), read_lines(tmp_path / "dev.de")
        assert row["sacreBLEU"] == f"{bleu(*texts).score:.1f}"
    shorter = reproduce(*arguments, "--rows=base", "--steps=1")
    assert "has been trained for 2 steps, and not 1: give another --output" in shorter.stderr
    longer = reproduce(*arguments, "--rows=base", "--steps=3", at_stage={1: "before SIGKILL"})
    assert stages(longer) == ["base: train", "base: score"], "its perplexity is another now"


def test_a_stages_own_process_runs_this_package(tmp_path):
    """Here a stage is started as for a user, and what it says comes to the message."""
    result = command(
        *("reproduce", "table3", "--rows=base", f"--output={tmp_path}"),
        *("--config.data.toy_pairs=300", "--config.data.vocabulary.size=30000"),
    )
    assert result.returncode == 2
    last = result.stderr.strip().splitlines()[-1]
    assert "toy grammar: prepare failed (exit code 2): prepare.py: The text is too small" in last
    assert f"{tmp_path}/logs/prepare.log" in last


DETERMINERS, NOUNS, VERBS = ("the", "a"), ("dog", "cat", "bird"), ("sees", "hears", "likes", "has")


def trees(count):
    for number in range(count):
        one, two, verb = DETERMINERS[number % 2], NOUNS[number % 3], VERBS[number // 6 % 4]
        clause = f"(NP-SBJ (DT {one}) (NN {two})) (VP (VBZ {verb}) (NP (NN x{number})))"
        yield f"( (S {clause} (ADVP (-NONE- *T*-1))) )"  # as the Penn Treebank's own files


def test_table4_mixes_parses_and_tells_what_was_seen(tmp_path):
    train = written(tmp_path / "train.mrg", trees(40))
    automatic = written(tmp_path / "automatic", ["(S (NP (NN it)) (VP (VBZ rains)))"] * 30)
    dev = written(tmp_path / "dev.mrg", list(trees(51))[39:])
    arguments = [
        *("table4", f"--train={train}", f"--dev={dev}", f"--output={tmp_path / 'out'}", *TINY),
        *(f"--automatic={automatic}", "--ratio=1.5", "--divide=64", "--divide_layers=4"),
        *("--config.data.vocabulary.size=310", "--config.search.extra_length=9", "--steps=2"),
    ]
    killed = reproduce(*arguments, at_stage={2: "before SIGKILL"})
    assert killed.returncode == -9, killed.stderr
    result = reproduce(*arguments)
    assert result.returncode == 0, result.stderr
    assert stages(result) == ["parsing: average", "parsing: parse-dev"]
    (row,) = cells(tmp_path / "out" / "table4.csv")
    assert (row["mode"], row["paper F1, WSJ 23"]) == ("semi-supervised", "92.7")
    assert (row["sentences"], row["also in training"]) == ("11", "1")
    assert row["trees trained on"] == "100", "60 automatic trees and 40 gold ones"
    assert int(row["repaired"]) + int(row["failed"]) == 12, "after two steps it has learned nothing"
    assert "60 automatic trees" in result.stdout and "d_model 16 (paper 1,024)" in result.stdout
    golds = list(read_trees(str(dev)))
    parses = [tree_on(line) for line in read_lines(tmp_path / "out" / "dev.trees")]
    assert row["F1"] == f"{bracketing(golds[1:], parses[1:])[0].f1:.2f}", "but the one it has seen"
    assert row["F1 with these"] == f"{bracketing(golds, parses)[0].f1:.2f}"

    run = tmp_path / "out" / "run"
    only = ["table4", f"--run={run}", f"--output={tmp_path / 'other'}", *SEARCH]
    mixed = [f"--train={train}", f"--automatic={automatic}", "--ratio=1.5"]
    scored = reproduce(*only, *mixed, f"--test={dev}")
    assert stages(scored) == ["parsing: parse-test"], scored.stderr
    (same,) = cells(tmp_path / "other" / "table4.csv")
    assert same == row | {"scored on": "test"}
    wrong = reproduce(*only, f"--train={train}", f"--dev={dev}")
    assert wrong.returncode == 2 and "was trained on other trees than --train" in wrong.stderr
    refused = reproduce(*only[:1], *only[2:], f"--train={dev}", f"--dev={dev}")
    assert refused.returncode == 2
    assert "12 of 12 sentences are in the training text" in refused.stderr


def test_the_smaller_treebank_is_repeated_to_the_ratio(tmp_path):
    assert amounts(40, 1000, None) == (40, 1000)
    assert amounts(40, 1000, 2.0) == (500, 1000)
    assert amounts(40, 30, 2.0) == (40, 80)
    gold = written(tmp_path / "gold", ["(S (A a))", "(S (B b))", "(S (C c))"])
    automatic = written(tmp_path / "automatic", [f"(S-X (D {n}))" for n in range(8)])
    assert write_mixed(tmp_path / "mixed", gold, automatic, 1.0) == (8, 8)
    lines = (tmp_path / "mixed").read_text().splitlines()
    assert sorted(lines) == sorted(
        [f"(S (D {n}))" for n in range(8)] + ["(S (A a))", "(S (B b))"] * 3 + ["(S (C c))"] * 2
    )


def test_every_row_of_table_3_keeps_what_it_changes_when_divided():
    table3 = load_config_file(find_config("table3"))
    base = table3.get_config("base").model.resolved()
    for row in table3.MODELS:
        paper = table3.get_config(row).model
        ours, paper = paper.divided(8, 2).resolved(), paper.resolved()
        for name in ("d_model", "d_ff", "d_k", "d_v"):
            assert getattr(ours, name) * 8 == getattr(paper, name)
        assert ours.num_layers * 2 == paper.num_layers and ours.num_heads == paper.num_heads
        if row.startswith("A"):
            assert ours.num_heads * ours.d_k == base.d_model // 8
    with pytest.raises(ValueError, match="a divisor of d_model=512"):
        base.divided(7)


# The paper's Table 3, row by row: PPL, BLEU, params ×10⁶.
TABLE_3 = """
base 4.92 25.8 65
A_h1 5.29 24.9 -
A_h4 5.00 25.5 -
A_h16 4.91 25.8 -
A_h32 5.01 25.4 -
B_dk16 5.16 25.1 58
B_dk32 5.01 25.4 60
C_N2 6.11 23.7 36
C_N4 5.19 25.3 50
C_N8 4.88 25.5 80
C_dmodel256 5.75 24.5 28
C_dmodel1024 4.66 26.0 168
C_dff1024 5.12 25.4 53
C_dff4096 4.75 26.2 90
D_dropout0.0 5.77 24.6 -
D_dropout0.2 4.95 25.5 -
D_smoothing0.0 4.67 25.3 -
D_smoothing0.2 5.47 25.7 -
E_learned 4.92 25.7 -
big 4.33 26.4 213
"""


def test_each_row_has_what_the_paper_prints():
    table3 = load_config_file(find_config("table3"))
    lines = [line.split() for line in TABLE_3.strip().splitlines()]
    assert {row: float(ppl) for row, ppl, _, _ in lines} == table3.PRINTED_PERPLEXITY
    assert {row: float(score) for row, _, score, _ in lines} == table3.PRINTED_BLEU
    assert {row: int(n) for row, _, _, n in lines if n != "-"} == table3.PRINTED_MILLIONS
    assert list(table3.MODELS) == [line[0] for line in lines]
    assert load_experiment("table3:big").training.steps == 300_000
    printed = {name: (row.bleu, row.flops, row.averaged) for name, row in RECIPES.items()}
    assert printed == {
        "ende_base": (27.3, 3.3e18, 5),
        "ende_big": (28.4, 2.3e19, 20),
        "enfr_base": (38.1, 3.3e18, 5),
        "enfr_big": (41.8, 2.3e19, 20),
    }


def test_a_shorter_training_keeps_its_shape():
    """The same highest learning rate, and averaging the same share of it."""
    training = TrainingConfig(steps=300_000)
    peak = training.learning_rate * training.warmup_steps**-0.5
    shorten(training, 3000, checkpoints=504)
    assert (training.steps, training.warmup_steps, training.checkpoint_every) == (3000, 40, 5)
    assert training.learning_rate * training.warmup_steps**-0.5 == pytest.approx(peak)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table2", "--leaves=tag"], "--leaves is not for table2"),
        (["table2", "--rows=ende"], "did you mean 'ende_big'"),
        (["table1", "--config.model.d_model=8"], "--config is not for table1"),
        (["table2", "--data=a"], "A text is of one pair of languages"),
        (["table2", "--rows=ende_base", "--tfds=x", "--data=x"], "in one way: --source=FILE"),
        (["table2", "--rows=ende_base", "--source=a", "--target=b"], "There is no source file a"),
        (
            ["table2", "--rows=ende_base", "--test_source={0}/a", "--test_target={0}/b"],
            "--test_source must name plain text files",
        ),
        (["table2", "--reduced=mixed"], "are for one row"),
        (["table2", "--rows=ende_base", "--data=x"], "--test_source and --test_target are needed"),
        (["table2", "--rows=ende_base", "--run=x", "--output={0}"], "x is no run"),
        (["table2", "--rows=ende_base", "--run=x", "--steps=3"], "--steps is for training"),
        (["table2", "--config.training.patience=3", "--output={0}"], "could not be compared"),
        (["table3", "--data=x"], "--dev_source and --dev_target are needed"),
        (["table3", "--divide=3", "--output={0}"], "a divisor of d_model=512"),
        (["table3", "--config=multi30k"], "each row of a table has a config of its own"),
        (["table3", "--config.training.steps=9", "--output={0}"], "--steps=N says how many"),
        (["table4", "--dev=x"], "--train, and --dev or --test or both"),
        (["table4", "--train=x", "--dev=y", "--ratio=2"], "--ratio says how to mix in"),
    ],
)
def test_a_wrong_wish_is_answered_before_anything_runs(tmp_path, arguments, message):
    result = reproduce(*(argument.format(tmp_path) for argument in arguments))
    assert result.returncode == 2
    assert message in result.stderr.strip().splitlines()[-1]
    assert stages(result) == []
