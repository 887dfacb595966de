"""Table 3: the variations on the base model, at a size that trains in seconds."""

import json
import math

import pytest
from support.runs.reproduced import TINY, cells, reproduce_command, started_stages

from t2t_keras.config_files import find_config, load_config_file
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.experiment import differences, load_experiment
from t2t_keras.reproduction import Plan, reproduce, table3
from t2t_keras.reproduction.table3 import Table3Result, changed_settings, recipe_of, write_results
from t2t_keras.reproduction.texts import EncodedText
from t2t_keras.runs.text_files import read_lines

OVERRIDES = TINY | {
    "data.toy_pairs": 400,
    "model.dropout": 0.2,
    "training.warmup_steps": 1,
}


REDUCTIONS = {"divide": 32, "divide_layers": 6, "steps": 2}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The output folder of a table with the row base, and the command's result."""
    folder = tmp_path_factory.mktemp("table3")
    flags = [f"--{name}={value}" for name, value in REDUCTIONS.items()]
    result = reproduce_command(
        *("table3", "--rows=base", f"--output={folder}", *flags), overrides=OVERRIDES
    )
    assert result.returncode == 0, result.stderr
    return folder, result


@pytest.mark.long
def test_a_row_is_trained_scored_and_translated(table):
    stages = ["toy grammar: prepare", "base: train", "base: score", "base: translate"]
    assert started_stages(table[1].stderr) == stages
    assert (table[0] / "table3.md").read_text() == table[1].stdout


@pytest.mark.long
def test_perplexity_and_bleu_are_those_of_the_held_out_text(table):
    (row,) = cells(table[0] / "table3.csv")
    scores = [line.split("\t") for line in read_lines(table[0] / "base" / "dev.scores")]
    log_p, pieces = sum(float(s[0]) for s in scores), sum(int(s[2]) for s in scores)
    assert float(row["PPL"]) == pytest.approx(math.exp(-log_p / pieces), abs=1e-3)
    texts = read_lines(table[0] / "base" / "dev.out"), read_lines(table[0] / "dev.de")
    assert row["sacreBLEU"] == f"{bleu(*texts).score:.1f}"
    stages = json.loads((table[0] / "base" / "stages.json").read_text())
    assert "--split=off" in stages["translate"][-1][1], "a line is scored as one sentence"


@pytest.mark.long
def test_reductions_of_all_rows_are_noted(table):
    assert "model.dropout 0.2 (paper 0.1)" in table[1].stdout
    assert "Trained on 400 sentence pairs" in table[1].stdout


@pytest.mark.long
def test_a_row_that_was_trained_for_longer_is_refused(table):
    reductions = REDUCTIONS | {"steps": 1}
    plan = Plan("table3", output=table[0], rows=["base"], overrides=OVERRIDES, **reductions)
    message = r"already been trained for 2 steps\. .* different --output\. Received: 1 steps"
    with pytest.raises(ValueError, match=message):
        reproduce(plan)


def test_big_has_three_times_the_steps_as_in_the_paper():
    plan = Plan("table3", overrides=OVERRIDES, **REDUCTIONS)
    assert recipe_of(plan, "base").experiment.training.steps == 2
    assert recipe_of(plan, "big").experiment.training.steps == 6


def test_a_row_is_compared_with_base_and_with_the_papers_row(tmp_path):
    plan = Plan("table3", overrides=OVERRIDES, **REDUCTIONS)
    base, big = recipe_of(plan, "base"), recipe_of(plan, "big")
    score = Score("BLEU", 20.0, "signature", lines=300)
    results = [
        Table3Result("base", "", 2, 5.0, score, score, 0.5, base.experiment),
        Table3Result(
            *("big", changed_settings(base, big), 6, 4.5, score._replace(score=22.0)),
            *(score, 1.25, big.experiment),
        ),
    ]
    (tmp_path / "report.json").write_text('{"counts": {"kept": 400}}')
    text = EncodedText(tmp_path, None, ("dev.en", "dev.de"))
    write_results(plan, tmp_path, results, base, text)
    base, big = cells(tmp_path / "table3.csv")
    assert big["what differs"].startswith("d_model 32, d_ff 128, num_heads 16, dropout 0.3")
    assert (big["PPL"], big["PPL − base"], base["PPL − base"]) == ("4.500", "-0.500", "+0.000")
    assert (big["sacreBLEU − base"], big["BLEU − base"]) == ("+2.0", "+0.0")
    assert (big["paper PPL"], big["paper PPL − base"]) == ("4.33", "-0.59")
    assert (big["10⁶ weights − base"], big["paper 10⁶ weights − base"]) == ("+0.750", "+148")


def test_seeds_of_base_are_trainings_that_differ_in_nothing_else():
    plan = Plan("table3", overrides=OVERRIDES, seeds=3, **REDUCTIONS)
    first, third = (recipe_of(plan, "base", seed).experiment for seed in (0, 2))
    assert differences(first, third) == {"training.seed": (1, 3)}


def markdown_and_rows(folder, perplexities):
    """Writes a table with these perplexities by row."""
    plan = Plan("table3", overrides=OVERRIDES, seeds=2, **REDUCTIONS)
    recipe, score = recipe_of(plan, "base"), Score("BLEU", 20.0, "signature", lines=300)
    results = [
        Table3Result(row, "", 2, perplexity, score, score, 0.5, recipe.experiment)
        for row, perplexity in perplexities.items()
    ]
    (folder / "report.json").write_text('{"counts": {"kept": 400}}')
    text = EncodedText(folder, None, ("dev.en", "dev.de"))
    markdown = write_results(plan, folder, results, recipe, text)
    return markdown, {row["row"]: row for row in cells(folder / "table3.csv")}


BASES = {"base": 4.9, "base-seed2": 5.1}  # the mean is 5.0, the noise 0.2


@pytest.mark.parametrize(
    ("row", "perplexity", "expected"),
    [
        ("A_h1", 5.21, "same"),  # the paper: +0.37
        ("A_h1", 5.19, "within noise"),
        ("C_N2", 4.79, "opposite"),  # +1.19
        ("D_smoothing0.0", 4.7, "same"),  # −0.25
        ("C_N2", math.inf, "diverged"),
        ("C_N2", math.nan, "diverged"),
        ("E_learned", 4.9, "same"),  # 0.00
        ("E_learned", 4.7, "opposite"),
    ],
)
def test_a_sign_counts_beyond_the_noise_of_the_seeds(tmp_path, row, perplexity, expected):
    markdown, rows = markdown_and_rows(tmp_path, {**BASES, row: perplexity})
    assert rows[row]["sign"] == expected
    assert (rows["base"]["sign"], rows["base-seed2"]["sign"]) == ("", "")
    assert rows["base-seed2"]["paper PPL"] == ""
    assert "2 seeds: PPL 5.000 in the mean, from 4.900 to 5.100" in markdown
    count = {"same": "1 differ from base in the paper's", "opposite": "1 in the opposite one"}
    assert count.get(expected, f"1 {expected.replace('within', 'are within the')}") in markdown


def test_differences_are_from_the_mean_of_the_seeds(tmp_path):
    _, rows = markdown_and_rows(tmp_path, {**BASES, "A_h1": 5.21})
    assert rows["A_h1"]["PPL − base"] == "+0.210"


@pytest.mark.parametrize("bases", [{}, {"base": 4.9}, {"base": 4.9, "base-seed2": math.inf}])
def test_without_a_noise_there_are_no_signs(tmp_path, bases):
    markdown, rows = markdown_and_rows(tmp_path, {**bases, "A_h1": 5.21})
    assert rows["A_h1"]["sign"] == "" and "noise" not in markdown


def test_only_base_is_trained_with_each_seed(tmp_path, monkeypatch):
    trained = {}

    def record(plan, folder, name, recipe, base, text):
        trained[name] = folder, recipe.experiment.training.seed
        return name

    monkeypatch.setattr(table3, "score_row", record)
    monkeypatch.setattr(table3, "training_text", lambda *_: None)
    monkeypatch.setattr(table3, "write_results", lambda *_: "")
    overrides = OVERRIDES | {"training.seed": 5}
    rows = ["base", "A_h1"]
    plan = Plan("table3", output=tmp_path, rows=rows, seeds=3, overrides=overrides, **REDUCTIONS)
    reproduce(plan)
    seeds = {"base": 5, "base-seed6": 6, "base-seed7": 7, "A_h1": 5}
    assert trained == {name: (tmp_path / name, seed) for name, seed in seeds.items()}


def test_seeds_without_base_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"Add base to --rows.*--seeds=3 --rows=A_h1"):
        reproduce(Plan("table3", output=tmp_path, rows=["A_h1"], seeds=3))


def test_overrides_leave_the_difference_of_a_row():
    plan = Plan("table3", overrides={"model.dropout": 0.3, "training.label_smoothing": 0.0})
    dropout, smoothing = (
        recipe_of(plan, row).experiment for row in ("D_dropout0.2", "D_smoothing0.2")
    )
    assert (dropout.model.dropout, dropout.training.label_smoothing) == (0.2, 0.0)
    assert (smoothing.model.dropout, smoothing.training.label_smoothing) == (0.3, 0.2)


def test_divided_rows_differ_from_base_by_the_papers_factors():
    config = load_config_file(find_config("table3"))
    base = config.get_config("base").model.resolved()
    for row in config.MODELS:
        paper = config.get_config(row).model
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


def test_the_paper_prints_these_figures():
    config = load_config_file(find_config("table3"))
    lines = [line.split() for line in TABLE_3.strip().splitlines()]
    assert {row: float(ppl) for row, ppl, _, _ in lines} == config.PRINTED_PERPLEXITY
    assert {row: float(score) for row, _, score, _ in lines} == config.PRINTED_BLEU
    assert {row: int(n) for row, _, _, n in lines if n != "-"} == config.PRINTED_MILLIONS
    assert list(config.MODELS) == [line[0] for line in lines]
    assert load_experiment("table3:big").training.steps == 300_000
