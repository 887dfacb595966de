"""Table 3: variations on the base model, each trained and scored on held-out text (§6.2).

All rows have the same text and the same reductions, so each row differs from base by the paper's
factors. The number of heads h is not divided. Perplexity is per piece; it and the translations use
the last checkpoint, not an average. Each training locks only its own folder.
"""

import dataclasses
import math
import statistics
from typing import NamedTuple

from pipelines.atomic_files import locked_folder
from pipelines.text.opened_text import find_files
from t2t_keras.config_files import find_config, load_config_file
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.experiment import Experiment, differences, load_experiment
from t2t_keras.reproduction.recipe import Recipe, apply_overrides, shorten, shown
from t2t_keras.reproduction.run_stages import (
    ChosenWeights,
    leave_gpus,
    millions_of,
    train_unless_it_diverges,
    trained_experiment,
    translate,
)
from t2t_keras.reproduction.texts import check_files, chosen_rows, encoded_text, encoded_toy_grammar
from t2t_keras.reproduction.verdicts import verdict_notes, verdicts_of
from t2t_keras.runs.run import Run
from t2t_keras.runs.text_files import read_lines
from t2t_keras.stages.stages import Stages
from t2t_keras.stages.table_writer import circumstances, number, signed, write_table
from t2t_keras.translating.scoring import perplexity

# Reductions for the toy grammar.
TOY = "toy_sweep"  # name of the config
TOY_WIDTHS = 8  # divisor of the widths
TOY_LAYERS = 2  # divisor of the number of layers


class Table3Result(NamedTuple):
    """The results of a training, and the settings that it was trained with."""

    row: str
    recipe: Recipe
    perplexity: float
    bleu: Score
    paper_bleu: Score
    millions: float
    trained: Experiment


def reproduce(plan):
    rows = chosen_rows(load_config_file(find_config("table3")).MODELS, plan.rows)
    check(plan)
    base = recipe_of(plan, "base")
    # All recipes are made first, to find wrong settings before anything is trained.
    recipes = {row: [recipe_of(plan, row, i) for i in range(plan.seeds)] for row in rows}
    leave_gpus()
    folder, results = plan.folder, []
    with locked_folder(folder, wait=True):
        text = training_text(plan, folder, base)
    for row, of_seeds in recipes.items():
        for further, recipe in enumerate(of_seeds):
            name = f"{row}-seed{recipe.experiment.training.seed}" if further else row
            with locked_folder(folder / name):
                results.append(score_row(plan, folder / name, name, row, recipe, text))
        with locked_folder(folder, wait=True):
            markdown = write_results(plan, folder, results, base, text)
    return markdown


def check(plan):
    if plan.has_text and not (plan.tfds or plan.dev_source):
        raise ValueError(
            "--dev_source and --dev_target, the text to score on, are needed with a training text. "
            "Received: neither"
        )
    check_files(plan)


def recipe_of(plan, row, further=0):
    """Returns a row's `Recipe`: the reduced base, with the paper's changes for this row.

    `further` is added to the random seed.
    """
    config = f"table3:{row}"
    base, paper, ours = (load_experiment(c) for c in ("table3:base", config, config))
    longer = paper.training.steps // base.training.steps  # 3 for "big", else 1
    ours.training.steps = base.training.steps
    if reduced := plan.reduced or (None if plan.has_text else TOY):
        ours = dataclasses.replace(load_experiment(reduced), model=ours.model)
        ours.training.label_smoothing = paper.training.label_smoothing
    if plan.steps:
        shorten(ours.training, plan.steps)
    ours.training.steps *= longer
    widths, layers = (1, 1) if plan.has_text else (TOY_WIDTHS, TOY_LAYERS)
    ours.model = ours.model.divided(plan.divide or widths, plan.divide_layers or layers)
    apply_overrides(plan, ours, kept=differences(base, paper))
    ours.training.seed += further
    return Recipe(config, ours, paper)


def training_text(plan, folder, base):
    """Returns the `EncodedText` for all rows, including the held-out text to score."""
    if not plan.has_text:
        return encoded_toy_grammar(folder, base)
    return encoded_text(plan, folder, "table 3", base, plan.tfds, ("en", plan.language))


def score_row(plan, folder, name, row, recipe, text):
    """Trains a row with the recipe's seed and scores it on the held-out text.

    If the training diverges, the perplexity is infinite and BLEU is NaN.
    """
    stages, run = Stages(folder, name, text.stages), Run(folder / "run")
    finished = train_unless_it_diverges(stages, run, recipe, text.folder)
    no_bleu = Score("BLEU", math.nan, "", lines=0)
    facts = {"millions": millions_of(run), "trained": trained_experiment(run)}
    if not finished:
        return Table3Result(row, recipe, math.inf, no_bleu, no_bleu, **facts)
    weights = ChosenWeights(str(recipe.experiment.training.steps), "the last checkpoint")
    source, target = text.dev
    scores, output = folder / "dev.scores", folder / "dev.out"
    stages.run_once(
        stage="score",
        command="score",
        arguments=[
            *(run.folder, f"--weights={weights.name}", f"--source={source}", f"--target={target}"),
            f"--output={scores}",
        ],
        creates=scores,
        reads=[*find_files("dev_source", source), *find_files("dev_target", target)],
    )
    translate(stages, "translate", [(run, weights)], recipe.experiment.search, source, output)
    lines, references = read_lines(output), read_lines(target)
    bleus = bleu(lines, references), paper_bleu(lines, references, plan.language)
    return Table3Result(row, recipe, perplexity_of(scores), *bleus, **facts)


def changed_settings(base, recipe):
    """Describes the settings in which a row's recipe differs from base."""
    changed = differences(base.experiment, recipe.experiment)
    return ", ".join(f"{name.split('.')[-1]} {shown(new)}" for name, (_, new) in changed.items())


def perplexity_of(path):
    """Returns the perplexity of all pairs in an output file of t2t-score."""
    pairs = [line.split("\t") for line in read_lines(path)]  # log P, perplexity, pieces
    return perplexity(sum(float(p[0]) for p in pairs), sum(int(p[2]) for p in pairs))


def write_results(plan, folder, results, base, text):
    """Writes the table of all `Table3Result`s so far and returns it as Markdown."""
    table3 = load_config_file(find_config("table3"))
    first = max(results, key=lambda each: each.bleu.lines)  # one that has not diverged
    # All rows have the same data settings.
    trained_base = dataclasses.replace(base.experiment, data=first.trained.data)
    reductions = base.reductions(trained_base)
    by_row = {each.row: [] for each in results}
    for each in results:
        by_row[each.row].append(each)

    def values(value):
        return {row: [value(each) for each in found] for row, found in by_row.items()}

    perplexities = values(lambda each: each.perplexity)
    scores = values(lambda each: each.bleu.score)
    paper_scores = values(lambda each: each.paper_bleu.score)
    millions = {row: [found[0].millions] for row, found in by_row.items()}
    verdicts = verdicts_of(perplexities, table3.PRINTED_PERPLEXITY)
    rows = [
        {
            "row": row,
            "what differs": changed_settings(base, found[0].recipe),
            "settings": "reduced" if reductions else "the paper's",
            "steps": f"{found[0].recipe.experiment.training.steps:,}",
            "PPL of each seed": ", ".join(f"{each:.3f}" for each in perplexities[row]),
            **measured_cells("PPL", perplexities, row, ".3f"),
            **paper_cells("PPL", table3.PRINTED_PERPLEXITY, row, ".2f"),
            "p": number(verdicts[row].p, ".3g") if row in verdicts else "",
            "verdict": verdicts[row].word if row in verdicts else "",
            **measured_cells("sacreBLEU", scores, row, ".1f"),
            **measured_cells("BLEU", paper_scores, row, ".1f"),
            **paper_cells("BLEU", table3.PRINTED_BLEU, row, ".1f"),
            **measured_cells("10⁶ weights", millions, row, ".3f"),
            **paper_cells("10⁶ weights", table3.PRINTED_MILLIONS, row, "d"),
        }
        for row, found in by_row.items()
    ]
    notes = [
        f"Trained on {number(text.pairs, ',')} sentence pairs, scored on {text.dev[1]}, "
        f"{first.bleu.lines:,} lines. The paper: WMT 2014 English–German, 4.5 M pairs, "
        "newstest2013.",
        f"Every row is reduced: {', '.join(reductions)}." if reductions else "Full size.",
        *verdict_notes(verdicts, perplexities),
        "PPL is per piece. PPL and translations (beam search) are from the last checkpoint; "
        "nothing is averaged.",
        f"sacreBLEU: {first.bleu.signature}",
        f"BLEU is the paper's metric, not comparable with sacreBLEU: {first.paper_bleu.signature}",
        *circumstances(plan),
    ]
    return write_table(folder / "table3", rows, notes)


def measured_cells(name, values, row, form):
    """Returns the cells of our results for a row: the mean, and its difference from base.

    `values` is {row: results, one for each seed}. With several seeds, both cells are followed by
    their standard errors.
    """
    mean, of_base = statistics.mean(values[row]), values.get("base")
    difference = signed(mean, statistics.mean(of_base), f"+{form}") if of_base else ""
    if all(len(found) == 1 for found in values.values()):
        return {name: number(mean, form), f"{name} − base": difference}
    error, difference_error = standard_error(values[row]), ""
    if of_base and row != "base":
        difference_error = number(math.hypot(error, standard_error(of_base)), form)
    return {
        name: number(mean, form),
        f"{name} ±": number(error, form),
        f"{name} − base": difference,
        f"{name} − base ±": difference_error,
    }


def standard_error(values):
    """Returns the standard error of a mean; NaN for a single value or one that is not finite."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return math.nan
    return statistics.stdev(values) / math.sqrt(len(values))


def paper_cells(name, printed, row, form):
    """Returns the paper's result for a row, and its difference from base."""
    return {
        f"paper {name}": number(printed.get(row), form),
        f"paper {name} − base": signed(printed.get(row), printed["base"], f"+{form}"),
    }
