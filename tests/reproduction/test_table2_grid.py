"""The grid of learning rates and layers that every row of Table 2 gets."""

import math

import pytest
from support.runs.reproduced import cells

from t2t_keras.experiment import differences
from t2t_keras.reproduction import Plan, reproduce, table2_grid
from t2t_keras.reproduction.table2 import recipe_of
from t2t_keras.reproduction.table2_grid import best, choices_of, search, shortened, write_grid
from t2t_keras.reproduction.texts import EncodedText
from t2t_keras.runs.settings_file import write_settings
from t2t_keras.stages.stages import Stages
from t2t_keras.training.logs.metrics_file import MetricsFile

ROWS = ["ende_base", "ende_moe"]


def grid(**changes):
    settings = {
        "rows": ROWS,
        "reduced": "multi30k,moe:multi30k",
        "operations": 1e13,
        "learning_rates": ["1e-3", "3e-3"],
        "layers": ["2/4", "3+2/4+3"],
        "overrides": {"training.warmup_steps": 5},
    }
    return Plan("table2", **{**settings, **changes})


def test_every_row_gets_each_rate_with_each_number_of_layers_at_the_same_cost():
    choices = choices_of(grid(), ROWS)
    assert [*choices["ende_moe"]] == [
        *(("1e-3", "3+2"), ("1e-3", "4+3")),
        *(("3e-3", "3+2"), ("3e-3", "4+3")),
    ]
    shallow, deep = (
        recipe_of(plan, "ende_moe", "moe:multi30k").experiment
        for plan in list(choices["ende_moe"].values())[:2]
    )
    assert (shallow.model.layers, deep.model.layers) == ((3, 2), (4, 3))
    assert shallow.training.learning_rate == 1e-3
    assert shallow.training.steps > deep.training.steps
    assert [*choices_of(grid(layers=None), ROWS)["ende_base"]] == [("1e-3", ""), ("3e-3", "")]
    assert choices_of(grid(layers=None, learning_rates=None), ROWS)["ende_base"] == {}


def test_a_short_training_is_the_beginning_of_the_full_one():
    full = recipe_of(grid(), "ende_base", "multi30k")
    short = shortened(full)
    assert short.experiment.training.steps == math.ceil(full.experiment.training.steps / 10)
    assert set(differences(full.experiment, short.experiment)) == {
        *("training.steps", "training.evaluate_every", "training.checkpoint_every")
    }


def test_the_lowest_perplexity_is_chosen_and_the_table_says_so(tmp_path, monkeypatch):
    plans = choices_of(grid(), ROWS)["ende_base"]
    recipes = {choice: recipe_of(each, "ende_base", "multi30k") for choice, each in plans.items()}
    perplexities = iter([90.0, 80.0, math.nan, None])

    def train(stages, run, recipe, data, dev):
        run.folder.mkdir(parents=True)
        write_settings(run.config_file, recipe.experiment)
        if (perplexity := next(perplexities)) is None:
            return False
        MetricsFile(run.folder / "metrics.jsonl").append({"step": 1, "perplexity": perplexity})
        return True

    monkeypatch.setattr(table2_grid, "train_unless_it_diverges", train)
    text = EncodedText(tmp_path, Stages(tmp_path, "text"), None)
    results = search(tmp_path, "ende_base", recipes, text)
    assert best(results).choice == ("1e-3", "4")
    write_grid(grid(), tmp_path, {"ende_base": results})
    lines = cells(tmp_path / "table2-grid.csv")
    assert [line["chosen"] for line in lines] == ["", "yes", "", ""]
    assert lines[3]["held-out perplexity"] == "diverged"
    assert (lines[1]["learning rate"], lines[1]["layers"]) == ("1e-3", "4")
    with pytest.raises(ValueError, match="ende_base: all short runs diverged"):
        best(results[3:])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": ["2/4"]}, "an entry for each of ende_base, ende_moe.*Received: --layers=2/4"),
        ({"evaluate_only": True}, "--evaluate_only trains nothing"),
        ({"learning_rates": ["fast"]}, "--learning_rates must be numbers .*Received: fast 2"),
        ({"layers": ["2/4", "2+x"]}, "--layers numbers such as .*Received: 1e-3 2\\+x"),
        ({"overrides": {"training.warmup_steps": 3000}}, "would end within the warm-up"),
        ({"data": "x", "test_source": [__file__], "test_target": [__file__]}, "held-out text"),
    ],
)
def test_a_grid_that_cannot_be_tried_is_refused_before_a_stage_runs(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        reproduce(grid(output=tmp_path / "new", **changes))
    assert not list(tmp_path.glob("**/*.log"))
