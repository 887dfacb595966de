"""Table 3: the variations on the base model, at a size that trains in seconds."""

import json
import math

import pytest
from support.runs.reproduced import TINY, cells, reproduce_command, started_stages

from t2t_keras.config_files import find_config, load_config_file
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.experiment import load_experiment
from t2t_keras.reproduction import Plan, reproduce, table3
from t2t_keras.reproduction.table3 import Table3Result, recipe_of, write_results
from t2t_keras.reproduction.texts import EncodedText
from t2t_keras.runs.settings_file import write_settings
from t2t_keras.runs.text_files import read_lines
from t2t_keras.stages.stages import Stages

OVERRIDES = TINY | {"data.toy_pairs": 400, "model.dropout": 0.2, "training.warmup_steps": 1}


REDUCTIONS = {"divide": 32, "divide_layers": 6, "steps": 2}


@pytest.mark.long
def test_a_row_is_trained_scored_and_translated_and_not_shortened(tmp_path):
    flags = [f"--{name}={value}" for name, value in REDUCTIONS.items()]
    result = reproduce_command(
        *("table3", "--rows=base", f"--output={tmp_path}", *flags), overrides=OVERRIDES
    )
    assert result.returncode == 0, result.stderr
    stages = ["toy grammar: prepare", "base: train", "base: score", "base: translate"]
    assert started_stages(result.stderr) == stages
    assert (tmp_path / "table3.md").read_text() == result.stdout
    assert "model.dropout 0.2 (paper 0.1)" in result.stdout
    assert "Trained on 400 sentence pairs" in result.stdout
    (row,) = cells(tmp_path / "table3.csv")
    scores = [line.split("\t") for line in read_lines(tmp_path / "base" / "dev.scores")]
    log_p, pieces = sum(float(s[0]) for s in scores), sum(int(s[2]) for s in scores)
    assert float(row["PPL"]) == pytest.approx(math.exp(-log_p / pieces), abs=1e-3)
    texts = read_lines(tmp_path / "base" / "dev.out"), read_lines(tmp_path / "dev.de")
    assert row["sacreBLEU"] == f"{bleu(*texts).score:.1f}"
    stages = json.loads((tmp_path / "base" / "stages.json").read_text())
    assert "--split=off" in stages["translate"][0][-1][1], "a line is scored as one sentence"


def test_big_has_three_times_the_steps_as_in_the_paper_and_big_100k_those_of_base():
    plan = Plan("table3", overrides=OVERRIDES, **REDUCTIONS)
    rows = ("base", "big", "big_100K")
    assert [recipe_of(plan, row).experiment.training.steps for row in rows] == [2, 6, 2]


def written(folder, perplexities, seeds=1):
    """Writes a table; returns its Markdown, and its lines by row.

    Args:
        perplexities: {row: perplexities, one for each seed}. BLEU is 25 − perplexity.
    """
    plan = Plan("table3", overrides=OVERRIDES, seeds=seeds, **REDUCTIONS)
    base, results = recipe_of(plan, "base"), []
    for row, of_seeds in perplexities.items():
        recipe = recipe_of(plan, row)
        results += [
            Table3Result(
                *(row, recipe, found),
                *(Score("BLEU", 25 - found, "signature", lines=300),) * 2,
                *(0.5 if row == "base" else 1.25, recipe.experiment),
            )
            for found in of_seeds
        ]
    (folder / "report.json").write_text('{"counts": {"kept": 400}}')
    text = EncodedText(folder, None, ("dev.en", "dev.de"))
    markdown = write_results(plan, folder, results, base, text)
    return markdown, {line["row"]: line for line in cells(folder / "table3.csv")}


def test_a_row_is_compared_with_base_and_with_the_papers_row(tmp_path):
    markdown, rows = written(tmp_path, {"base": [5.0], "big": [4.5]})
    base, big = rows["base"], rows["big"]
    assert big["what differs"].startswith("d_model 32, d_ff 128, num_heads 16, dropout 0.3")
    assert (big["PPL"], big["PPL − base"], base["PPL − base"]) == ("4.500", "-0.500", "+0.000")
    assert (big["sacreBLEU − base"], big["BLEU − base"]) == ("+0.5", "+0.5")
    assert (big["paper PPL"], big["paper PPL − base"]) == ("4.33", "-0.59")
    assert (big["10⁶ weights − base"], big["paper 10⁶ weights − base"]) == ("+0.750", "+148")
    assert (big["p"], big["verdict"]) == ("", "") and "Verdicts" not in markdown


def test_several_seeds_give_means_standard_errors_and_verdicts(tmp_path):
    rows = {"base": [4.9, 5.1], "A_h1": [5.9, 6.1], "big": [4.9, 5.1], "big_100K": [4.0, 4.2]}
    markdown, rows = written(tmp_path, rows, seeds=2)
    row = rows["A_h1"]
    assert (row["PPL of each seed"], row["PPL"], row["PPL ±"]) == ("5.900, 6.100", "6.000", "0.100")
    assert (row["PPL − base"], row["PPL − base ±"]) == ("+1.000", "0.141")
    assert rows["base"]["PPL − base ±"] == "" and rows["big_100K"]["verdict"] == ""
    assert (row["verdict"], rows["big"]["verdict"]) == ("agrees", "undecided")
    counts = "Verdicts on 2 differences in perplexity: 1 agree, 0 contradict, 1 undecided."
    assert counts in markdown


def test_a_row_that_diverges_has_no_scores_and_does_not_end_the_table(tmp_path, monkeypatch):
    plan = Plan("table3", overrides=OVERRIDES, seeds=2, **REDUCTIONS)

    def train(stages, run, recipe, data):
        run.folder.mkdir(parents=True)
        write_settings(run.config_file, recipe.experiment)

    monkeypatch.setattr(table3, "train_unless_it_diverges", train)
    text = EncodedText(tmp_path, Stages(tmp_path, "text"), ("dev.en", "dev.de"))
    recipe = recipe_of(plan, "A_h1")
    result = table3.score_row(plan, tmp_path / "A_h1", "A_h1", "A_h1", recipe, text)
    assert math.isinf(result.perplexity) and math.isnan(result.bleu.score)
    perplexities = {"A_h1": [5.9, result.perplexity], "base": [4.9, 5.1]}
    markdown, rows = written(tmp_path, perplexities, seeds=2)
    assert (rows["A_h1"]["PPL of each seed"], rows["A_h1"]["verdict"]) == ("5.900, inf", "diverged")
    assert "0 undecided, 1 diverged." in markdown and "Holm for 0 comparisons" in markdown


def test_every_row_is_trained_with_each_seed(tmp_path, monkeypatch):
    trained = {}

    def record(plan, folder, name, row, recipe, text):
        trained[name] = folder, row, recipe.experiment.training.seed
        return name

    monkeypatch.setattr(table3, "score_row", record)
    monkeypatch.setattr(table3, "training_text", lambda *_: None)
    monkeypatch.setattr(table3, "write_results", lambda *_: "")
    overrides = OVERRIDES | {"training.seed": 5}
    rows = ["base", "A_h1"]
    plan = Plan("table3", output=tmp_path, rows=rows, seeds=2, overrides=overrides, **REDUCTIONS)
    reproduce(plan)
    expected = {"base": 5, "base-seed6": 6, "A_h1": 5, "A_h1-seed6": 6}
    assert trained == {
        name: (tmp_path / name, name.split("-")[0], seed) for name, seed in expected.items()
    }


def test_overrides_leave_the_difference_of_a_row():
    plan = Plan("table3", overrides={"model.dropout": 0.3, "training.label_smoothing": 0.0})
    dropout, smoothing = (recipe_of(plan, r).experiment for r in ("D_dropout0.2", "D_smoothing0.2"))
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


def test_the_paper_prints_these_figures():
    config = load_config_file(find_config("table3"))
    rows = ["base", "A_h1", "C_N2", "C_dmodel1024", "D_smoothing0.0", "E_learned", "big"]
    assert [config.PRINTED_PERPLEXITY[row] for row in rows] == [
        *(4.92, 5.29, 6.11, 4.66, 4.67, 4.92, 4.33)
    ]
    assert [config.PRINTED_BLEU[row] for row in rows] == [25.8, 24.9, 23.7, 26.0, 25.3, 25.7, 26.4]
    assert [config.PRINTED_MILLIONS.get(row) for row in ("base", "A_h1", "big")] == [65, None, 213]
    assert {*config.MODELS} - {"big_100K"} == config.PRINTED_BLEU.keys()
    assert load_experiment("table3:big").training.steps == 300_000
