"""Chooses learning rate and number of layers of each row of Table 2 by short trainings.

Each choice is trained for a tenth of the row's steps. The choice with the lowest perplexity on the
held-out text is then trained in full, from the start. (After a tenth, BLEU is still near 0.)
"""

import copy
import dataclasses
import itertools
import math
import re
from typing import NamedTuple

from t2t_keras.checks import check_positive
from t2t_keras.reproduction.recipe import operations_per_token
from t2t_keras.reproduction.run_stages import facts_of, train_unless_it_diverges
from t2t_keras.runs.run import Run
from t2t_keras.stages.stages import Stages
from t2t_keras.stages.table_writer import circumstances, number, write_table

SHARE = 10  # A short training has a tenth of the steps.
NUMBERS = re.compile(r"[1-9][0-9]*(\+[1-9][0-9]*)?")  # of layers, or of encoder and decoder
CHOSEN_SETTINGS = {
    "learning_rates": ("training.learning_rate",),
    "layers": ("model.num_layers", "model.decoder_layers"),
}


class Choice(NamedTuple):
    """A point of the grid, as it was given: "1e-3" and "2" or "3+2"; None if it was not given."""

    learning_rate: str | None
    layers: str | None

    @property
    def name(self):
        parts = [f"layers{self.layers}" if self.layers else "", self.learning_rate or ""]
        return "-".join(filter(None, parts))

    def applied(self, plan):
        """Returns the plan with these settings."""
        overrides = dict(plan.overrides or {})
        if self.learning_rate:
            overrides["training.learning_rate"] = float(self.learning_rate)
        if self.layers:
            numbers = map(int, self.layers.split("+"))
            overrides |= dict(zip(CHOSEN_SETTINGS["layers"], numbers, strict=False))
        return dataclasses.replace(plan, overrides=overrides)


class GridResult(NamedTuple):
    """The outcome of a short training. The perplexity is infinite if it diverged."""

    row: str
    choice: Choice
    experiment: object  # the `Experiment` that was trained
    millions: float
    steps: int
    perplexity: float


def choices_of(plan, rows):
    """Returns {row: list of `Choice`s}. The lists are empty if the plan has no grid."""
    if not (plan.learning_rates or plan.layers):
        return {row: [] for row in rows}
    check_grid(plan, rows)
    layers = [entry.split("/") for entry in plan.layers or []] or [[None]] * len(rows)
    return {
        row: [Choice(*pair) for pair in itertools.product(plan.learning_rates or [None], numbers)]
        for row, numbers in zip(rows, layers, strict=True)
    }


def check_grid(plan, rows):
    """Rejects choices that are no numbers, and settings that contradict the grid."""
    for rate in plan.learning_rates or []:
        try:
            number_of_rate = float(rate)
        except ValueError:
            number_of_rate = rate
        check_positive("learning_rates", number_of_rate)
    layers = plan.layers or []
    numbers = [each for entry in layers for each in entry.split("/")]
    chosen = [
        path for name, paths in CHOSEN_SETTINGS.items() if getattr(plan, name) for path in paths
    ]
    given = [path for path in chosen if path in (plan.overrides or {})]
    refusals = [
        (
            layers and len(layers) != len(rows),
            f"--layers needs an entry for each of {', '.join(rows)}",
        ),
        (not all(map(NUMBERS.fullmatch, numbers)), "--layers must be numbers such as 2/4,3+2/4+3"),
        (given, f"Short trainings choose {', '.join(given)}: leave it out of --config"),
        (layers and not plan.operations, "--layers needs --operations, the same cost for all"),
        (layers and plan.divide_layers, "--layers leaves --divide_layers without effect"),
        (
            plan.evaluate_only,
            "--evaluate_only trains nothing: leave out --learning_rates and --layers",
        ),
        (
            (plan.source or plan.data) and not plan.dev_source,
            "--learning_rates and --layers need --dev_source and --dev_target, a held-out text",
        ),
    ]
    for is_wrong, message in refusals:
        if is_wrong:
            received = f"--layers={','.join(layers)}" if layers else "--learning_rates"
            raise ValueError(f"{message}. Received: {received}")


def check_recipes(choices, recipes):
    """Rejects choices that cannot be tried for a tenth of the steps, or have other layers."""
    for choice, recipe in zip(choices, recipes, strict=True):
        shortened(recipe)
        decoder_layers = recipe.experiment.model.decoder_layers
        if choice.layers and "+" not in choice.layers and decoder_layers is not None:
            raise ValueError(
                f"{recipe.reduced or recipe.config} has {decoder_layers} decoder layers for any "
                f"--layers. Give both numbers, such as {choice.layers}+{decoder_layers}. "
                f"Received: {choice.layers}"
            )


def shortened(recipe):
    """Returns the recipe of the short training.

    It is the beginning of the full one, unless a linear schedule falls to 0 within it.
    """
    experiment = copy.deepcopy(recipe.experiment)
    training = experiment.training
    training.steps = math.ceil(training.steps / SHARE)
    if training.warmup_steps >= training.steps:
        raise ValueError(
            f"The short trainings have {training.steps:,} steps and would end within the warm-up. "
            "Give --config.training.warmup_steps a smaller number. "
            f"Received: training.warmup_steps={training.warmup_steps}"
        )
    training.evaluate_every = training.checkpoint_every = training.steps
    return recipe._replace(experiment=experiment)


def search(folder, row, choices, recipes, text):
    """Trains all choices of a row, by the recipes of the full trainings; returns `GridResult`s."""
    results = []
    for choice, recipe in zip(choices, map(shortened, recipes), strict=True):
        place = folder / "grid" / choice.name
        run = Run(place / "run")
        stages = Stages(place, f"{row} {choice.name}", text.stages)
        perplexity = math.inf
        if train_unless_it_diverges(stages, run, recipe, text.folder, text.dev):
            perplexity = run.evaluations(required=True)[-1]["perplexity"]
        facts = facts_of(run)
        results.append(
            GridResult(
                row=row,
                choice=choice,
                experiment=run.experiment(),
                millions=facts.millions,
                steps=facts.steps,
                perplexity=perplexity,
            )
        )
    return results


def best(results):
    """Returns the `GridResult` with the lowest perplexity."""
    finite = [each for each in results if math.isfinite(each.perplexity)]
    if not finite:
        raise ValueError(
            f"{results[0].row}: all short trainings diverged. Give lower --learning_rates"
        )
    return min(finite, key=lambda each: each.perplexity)


def write_grid(plan, folder, results):
    """Writes the outcome of all short trainings so far, {row: list of `GridResult`s}."""
    chosen = [best(of_row) for of_row in results.values()]
    columns = {
        "row": lambda each: each.row,
        "layers": lambda each: each.choice.layers or "",
        "learning rate": lambda each: each.choice.learning_rate or "",
        "10⁶ weights": lambda each: number(each.millions),
        "10⁶ operations per token": lambda each: number(
            operations_per_token(each.experiment) / 1e6, ".3g"
        ),
        "steps": lambda each: f"{each.steps:,}",
        "held-out perplexity": lambda each: (
            number(each.perplexity) if math.isfinite(each.perplexity) else "diverged"
        ),
        "chosen": lambda each: "yes" if each in chosen else "",
    }
    notes = [
        "Each choice was trained for a tenth of the row's steps; a linear schedule falls to 0 "
        "within them. The lowest perplexity per piece on the held-out text decides.",
        *circumstances(plan),
    ]
    rows = [each for of_row in results.values() for each in of_row]
    write_table(folder / "table2-grid", columns, rows, notes)
