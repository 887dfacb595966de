"""Table 3: variations on the base model, each trained and scored on held-out text (§6.2).

All rows are trained on the same encoded text, and every reduction applies to all rows, so each row
differs from base by the paper's factors. `divide` divides every width, and `divide_layers` divides
the number of layers N. The number of heads h is not divided. "big" is trained for three times the
steps of base. Perplexity is per piece. Perplexity and translations use the last checkpoint, not an
average.

With several seeds, base is trained once with each seed, and the spread of its perplexities is the
noise. A row counts as different only if it differs from base's mean by more than the noise.
"""

import dataclasses
import statistics
from typing import NamedTuple

from pipelines.text.file_lists import find_files
from t2t_keras.config_files import find_config, load_config_file
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.experiment import Experiment, differences, load_experiment
from t2t_keras.reproduction.noise import bases_of, noise_notes, noise_of, signs
from t2t_keras.reproduction.recipe import Recipe, apply_overrides, shorten, shown
from t2t_keras.reproduction.run_stages import facts_of, output_folder, train, trained_experiment
from t2t_keras.reproduction.texts import (
    check_files,
    chosen_rows,
    encoded_text,
    encoded_toy_grammar,
)
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
    """A line of the table, and the settings that the row was trained with."""

    row: str
    changed: str
    steps: int
    perplexity: float
    bleu: Score
    paper_bleu: Score
    millions: float
    trained: Experiment


def reproduce(plan):
    rows = chosen_rows(load_config_file(find_config("table3")).MODELS, plan.rows)
    check(plan, rows)
    base = recipe_of(plan, "base")
    recipes = {}  # made first, to find wrong settings before anything is trained
    for row in rows:
        for further in range(plan.seeds if row == "base" else 1):
            recipe = recipe_of(plan, row, further)
            name = f"{row}-seed{recipe.experiment.training.seed}" if further else row
            recipes[name] = recipe
    with output_folder(plan) as folder:
        text = training_text(plan, folder, base)
        results = []
        for name, recipe in recipes.items():
            results.append(score_row(plan, folder / name, name, recipe, base, text))
            markdown = write_results(plan, folder, results, base, text)
    return markdown


def check(plan, rows):
    if plan.seeds > 1 and "base" not in rows:
        raise ValueError(
            "--seeds trains base several times. Add base to --rows, or leave --seeds out. "
            f"Received: --seeds={plan.seeds} --rows={','.join(rows)}"
        )
    if plan.has_text and not (plan.tfds or plan.dev_source):
        raise ValueError(
            "--dev_source and --dev_target, the text to score on, are needed with a training text. "
            "Received: neither"
        )
    check_files(plan)


def recipe_of(plan, row, further=0):
    """Returns a row's `Recipe`: the reduced base, with the paper's changes for this row.

    Args:
        plan: a `Plan`.
        row: name of the row.
        further: number added to the random seed.
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


def score_row(plan, folder, row, recipe, base, text):
    """Trains a row and scores it on the held-out text."""
    stages, run = Stages(folder, row, text.stages), Run(folder / "run")
    train(stages, run, recipe, text.folder)
    weights = f"--weights={recipe.experiment.training.steps}"
    source, target = text.dev
    dev_files = [*find_files("dev_source", source), *find_files("dev_target", target)]
    scores, output = folder / "dev.scores", folder / "dev.out"
    stages.run_once(
        stage="score",
        command="score",
        arguments=[
            *(run.folder, weights, f"--source={source}", f"--target={target}"),
            f"--output={scores}",
        ],
        creates=scores,
        reads=dev_files,
    )
    stages.run_once(
        stage="translate",
        command="translate",
        arguments=[
            *(run.folder, weights, "--split=off"),
            *(f"--input={source}", f"--output={output}"),
        ],
        creates=output,
        reads=dev_files,
    )
    lines, references = read_lines(output), read_lines(target)
    return Table3Result(
        row=row,
        changed=changed_settings(base, recipe),
        steps=recipe.experiment.training.steps,
        perplexity=perplexity_of(scores),
        bleu=bleu(lines, references),
        paper_bleu=paper_bleu(lines, references, plan.language),
        millions=facts_of(run).millions,
        trained=trained_experiment(run),
    )


def changed_settings(base, recipe):
    """Describes the settings in which a row's recipe differs from base."""
    changed = differences(base.experiment, recipe.experiment)
    return ", ".join(f"{name.split('.')[-1]} {shown(new)}" for name, (_, new) in changed.items())


def perplexity_of(path):
    """Returns the perplexity of all pairs in an output file of t2t-score."""
    pairs = [line.split("\t") for line in read_lines(path)]  # log P, perplexity, pieces
    return perplexity(sum(float(p[0]) for p in pairs), sum(int(p[2]) for p in pairs))


def write_results(plan, folder, results, base, text):
    """Writes the table of all results so far and returns it as Markdown."""
    table3 = load_config_file(find_config("table3"))
    noise = noise_of(results)
    # All rows have the data settings of the first row's run.
    trained_base = dataclasses.replace(base.experiment, data=results[0].trained.data)
    reductions = base.reductions(trained_base)
    verdicts = signs(results, noise, table3.PRINTED_PERPLEXITY)
    columns = {
        "row": lambda each: each.row,
        "what differs": lambda each: each.changed,
        "settings": lambda each: "reduced" if reductions else "the paper's",
        "steps": lambda each: f"{each.steps:,}",
        **measured_columns("PPL", lambda each: each.perplexity, bases_of(results), ".3f"),
        **paper_columns("PPL", table3.PRINTED_PERPLEXITY, ".2f"),
        "sign": lambda each: verdicts.get(each.row, ""),
        **measured_columns("sacreBLEU", lambda each: each.bleu.score, bases_of(results), ".1f"),
        **measured_columns("BLEU", lambda each: each.paper_bleu.score, bases_of(results), ".1f"),
        **paper_columns("BLEU", table3.PRINTED_BLEU, ".1f"),
        **measured_columns("10⁶ weights", lambda each: each.millions, bases_of(results), ".3f"),
        **paper_columns("10⁶ weights", table3.PRINTED_MILLIONS, "d"),
    }
    notes = [
        f"Trained on {number(text.pairs, ',')} sentence pairs, scored on {text.dev[1]}, "
        f"{results[0].bleu.lines:,} lines. The paper: WMT 2014 English–German, 4.5 M pairs, "
        "newstest2013.",
        f"Every row is reduced: {', '.join(reductions)}." if reductions else "Full size.",
        *noise_notes(noise, verdicts),
        "PPL is per piece. PPL and translations (beam search) are those of the last checkpoint; "
        "nothing is averaged.",
        f"sacreBLEU: {results[0].bleu.signature}",
        "BLEU is the paper's metric, not comparable with sacreBLEU: "
        f"{results[0].paper_bleu.signature}",
        *circumstances(plan),
    ]
    return write_table(folder / "table3", columns, results, notes)


def measured_columns(name, value, bases, form):
    """Returns two columns: our results, and their differences from the mean of base."""
    mean = statistics.mean(map(value, bases)) if bases else None
    return {
        name: lambda each: number(value(each), form),
        f"{name} − base": lambda each: signed(value(each), mean, f"+{form}"),
    }


def paper_columns(name, printed, form):
    """Returns two columns: the paper's results, and their differences from base."""
    return {
        f"paper {name}": lambda each: number(printed.get(each.row), form),
        f"paper {name} − base": lambda each: signed(
            printed.get(each.row), printed["base"], f"+{form}"
        ),
    }
