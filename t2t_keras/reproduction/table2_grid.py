"""Chooses learning rate and number of layers of each row of Table 2 in short runs.

Each choice is trained for a tenth of the row's steps. The choice with the lowest perplexity on the
held-out text is then trained in full, from the start. (After a tenth, BLEU is still near 0.)
"""

import copy
import dataclasses
import itertools
import math
from typing import NamedTuple

from t2t_keras.reproduction.recipe import operations_per_token
from t2t_keras.reproduction.run_stages import millions_of, steps_of, train_unless_it_diverges
from t2t_keras.runs.run import Run
from t2t_keras.stages.stages import Stages
from t2t_keras.stages.table_writer import circumstances, number, write_table

SHARE = 10  # A short training has a tenth of the steps.


class GridResult(NamedTuple):
    """The outcome of a short training. The perplexity is infinite if it diverged."""

    row: str
    choice: tuple  # the learning rate and the numbers of layers, as they were given
    run: Run
    perplexity: float


def choices_of(plan, rows):
    """Returns {row: {(learning rate, layers): the plan with both}}, both as in the plan's lists.

    Without one of the lists, its entry is "". Without both, the dicts are empty.
    """
    if not (plan.learning_rates or plan.layers):
        return {row: {} for row in rows}
    if plan.evaluate_only:
        raise ValueError(
            "--evaluate_only trains nothing. Leave out it, or --learning_rates and --layers"
        )
    layers = [entry.split("/") for entry in plan.layers or [""] * len(rows)]
    if len(layers) != len(rows):
        raise ValueError(
            f"--layers needs an entry for each of {', '.join(rows)}. "
            f"Received: --layers={','.join(plan.layers)}"
        )
    if (plan.source or plan.data) and not plan.dev_source:
        raise ValueError(
            "--learning_rates and --layers need --dev_source and --dev_target, a held-out text. "
            "Received: neither"
        )
    return {
        row: {
            (rate, layer): chosen(plan, rate, layer)
            for rate in plan.learning_rates or [""]
            for layer in of_row
        }
        for row, of_row in zip(rows, layers, strict=True)
    }


def chosen(plan, rate, layers):
    """Returns the plan with a learning rate, "1e-3", and numbers of layers, "2" or "3+2"."""
    changes = {}
    try:
        if rate:
            changes["training.learning_rate"] = float(rate)
        if layers:
            names = ("model.num_layers", "model.decoder_layers")
            changes |= zip(names, map(int, layers.split("+")), strict=False)
    except ValueError:
        raise ValueError(
            "--learning_rates must be numbers such as 1e-3, and --layers numbers such as "
            f"2/4,3+2/4+3. Received: {rate} {layers}"
        ) from None
    return dataclasses.replace(plan, overrides={**(plan.overrides or {}), **changes})


def shortened(recipe):
    """Returns the recipe of the short training.

    It is the beginning of the full one, unless a linear schedule falls to 0 within it.
    """
    experiment = copy.deepcopy(recipe.experiment)
    training = experiment.training
    training.steps = math.ceil(training.steps / SHARE)
    if training.warmup_steps >= training.steps:
        raise ValueError(
            f"The short runs have {training.steps:,} steps and would end within the warm-up. "
            "Give --config.training.warmup_steps a smaller number. "
            f"Received: training.warmup_steps={training.warmup_steps}"
        )
    training.evaluate_every = training.checkpoint_every = training.steps
    return recipe._replace(experiment=experiment)


def search(folder, row, recipes, text):
    """Trains all choices of a row, {choice: `Recipe` of the training}; returns `GridResult`s."""
    results = []
    for choice, recipe in recipes.items():
        name = "-layers".join(filter(None, choice))
        run = Run(folder / "grid" / name / "run")
        stages = Stages(run.folder.parent, f"{row} {name}", text.stages)
        perplexity = math.inf
        if train_unless_it_diverges(stages, run, recipe, text.folder, text.dev):
            perplexity = run.evaluations(required=True)[-1]["perplexity"] or math.inf
        results.append(GridResult(row, choice, run, perplexity))
    return results


def best(results):
    finite = [each for each in results if math.isfinite(each.perplexity)]
    if not finite:
        raise ValueError(f"{results[0].row}: all short runs diverged. Give lower --learning_rates")
    return min(finite, key=lambda each: each.perplexity)


def write_grid(plan, folder, results):
    """Writes the results of all short runs so far, {row: list of `GridResult`s}."""
    winners = [best(of_row) for of_row in results.values()]
    rows = [
        {
            "row": each.row,
            "layers": each.choice[1],
            "learning rate": each.choice[0],
            "10⁶ weights": number(millions_of(each.run)),
            "10⁶ operations per token": number(
                operations_per_token(each.run.experiment()) / 1e6, ".3g"
            ),
            "steps": f"{steps_of(each.run):,}",
            "held-out perplexity": (
                number(each.perplexity) if math.isfinite(each.perplexity) else "diverged"
            ),
            "chosen": "yes" if each in winners else "",
        }
        for each in itertools.chain(*results.values())
    ]
    notes = [
        "Each choice was trained for a tenth of the row's steps; a linear schedule falls to 0 "
        "within them. The lowest perplexity per piece on the held-out text decides.",
        *circumstances(plan),
    ]
    write_table(folder / "table2-grid", rows, notes)
