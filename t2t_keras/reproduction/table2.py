"""Table 2: BLEU and training cost of all systems, English–German and English–French (§6.1).

For each row, the text is prepared, a model is trained, and its last 5 checkpoints (big: 20) are
averaged. The test set is translated with beam 4 and α = 0.6, and scored with both BLEU metrics.
By default, the text comes from TensorFlow Datasets, with newstest2013 as held-out text and
newstest2014 as test set. As in the paper, the training cost is the training time times the
measured rate of the devices.
"""

import functools
from pathlib import Path
from typing import NamedTuple

from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.reproduction.longest_path import longest_path
from t2t_keras.reproduction.recipe import (
    TYPICAL_LENGTH,
    differences,
    operations_per_token,
    reduced_recipe,
)
from t2t_keras.reproduction.run_stages import (
    Facts,
    average,
    default_weights,
    existing_run,
    facts_of,
    output_folder,
    train,
    trained_experiment,
    translate,
)
from t2t_keras.reproduction.table2_progress import draw_progress, progress_of
from t2t_keras.reproduction.texts import (
    check_files,
    check_lines,
    chosen_rows,
    encoded_text,
    tfds_files,
)
from t2t_keras.runs.run import Run
from t2t_keras.runs.text_files import read_lines
from t2t_keras.stages.stages import Stages
from t2t_keras.stages.table_writer import circumstances, number, write_table


class PaperRow(NamedTuple):
    """A row of the paper's table.

    Args:
        config: shipped config with the row's settings.
        data_set: TensorFlow data set of the text.
        languages: source and target language.
        checkpoints: number of checkpoints that the training wrote, one every ten minutes.
        averaged: number of final checkpoints that were averaged.
        bleu, flops: BLEU and training cost in the paper, or None if not given.
    """

    config: str
    data_set: str
    languages: tuple
    checkpoints: int
    averaged: int
    bleu: float
    flops: float | None


EN_DE = ("wmt14_translate/de-en", ("en", "de"))
EN_FR = ("wmt14_translate/fr-en", ("en", "fr"))
# (checkpoints that the training writes, checkpoints averaged)
BASE = (72, 5)  # 12 hours of training
BIG = (504, 20)  # 3.5 days of training
PAPER = {
    "ende_base": PaperRow("wmt14_ende:base", *EN_DE, *BASE, 27.3, 3.3e18),
    "ende_big": PaperRow("wmt14_ende:big", *EN_DE, *BIG, 28.4, 2.3e19),
    "enfr_base": PaperRow("wmt14_enfr:base", *EN_FR, *BASE, 38.1, 3.3e18),
    "enfr_big": PaperRow("wmt14_enfr:big", *EN_FR, *BIG, 41.8, 2.3e19),  # 41.0 in version 1
    "ende_bytenet": PaperRow("bytenet", *EN_DE, *BASE, 23.75, None),
    "ende_gnmt": PaperRow("gnmt", *EN_DE, *BASE, 24.6, 2.3e19),
    "ende_convs2s": PaperRow("convs2s", *EN_DE, *BASE, 25.16, 9.6e18),
    "ende_moe": PaperRow("moe", *EN_DE, *BASE, 26.03, 2.0e19),
    "enfr_gnmt": PaperRow("gnmt", *EN_FR, *BASE, 39.92, 1.4e20),
    "enfr_convs2s": PaperRow("convs2s", *EN_FR, *BASE, 40.46, 1.5e20),
    "enfr_moe": PaperRow("moe", *EN_FR, *BASE, 40.56, 1.2e20),
}
# Rows that are reproduced by default: the paper's own models.
OWN = ("ende_base", "ende_big", "enfr_base", "enfr_big")


class Table2Result(NamedTuple):
    """A line of the table: a row's scores on one test set."""

    row: str
    test: str
    facts: Facts
    model: object  # settings of the model
    weights: str
    bleu: Score
    paper_bleu: Score
    flops: float | None
    reductions: list
    progress: list


def reproduce(plan):
    rows = chosen_rows(PAPER, plan.rows or OWN)
    check(plan, rows)
    reduced = dict(zip(rows, (plan.reduced or "").split(","), strict=False))
    run = existing_run(plan)
    # Make all recipes first, so that a wrong setting is found before anything is trained.
    recipes = {name: recipe_of(plan, name, reduced.get(name)) for name in rows}
    if not (run or plan.data or plan.evaluate_only):
        check_text(recipes)
    with output_folder(plan) as folder:
        results = []
        for name in rows:
            results += score_row(plan, folder, name, run, reduced.get(name))
            text = write_results(plan, folder, results)
    return text


def check(plan, rows):
    """Rejects missing files, and settings that contradict each other or the rows."""
    if plan.run and len(rows) > 1:
        raise ValueError(
            "--run is for one row. Name it, for example --rows=ende_base. "
            f"Received: {', '.join(rows)}"
        )
    if plan.reduced and len(plan.reduced.split(",")) != len(rows):
        raise ValueError(
            "--reduced names one config for each row, for example --rows=ende_base,ende_gnmt "
            f"--reduced=multi30k,gnmt:multi30k. Received: --reduced={plan.reduced} for "
            f"{', '.join(rows)}"
        )
    language_pairs = {PAPER[name].languages for name in rows}
    if (plan.has_text or plan.test_source) and len(language_pairs) > 1:
        raise ValueError(
            "A text has one pair of languages. Name rows of one pair, for example "
            f"--rows=ende_base,ende_big. Received: {', '.join(rows)}"
        )
    sources, targets = plan.test_source or [], plan.test_target or []
    if len(sources) != len(targets):
        raise ValueError(
            "--test_source and --test_target must name the same number of files. "
            f"Received: {', '.join(sources) or 'none'} and {', '.join(targets) or 'none'}"
        )
    if plan.has_text and not plan.tfds and not sources:
        raise ValueError(
            "--test_source and --test_target, the text to score on, are needed with a training "
            "text. Received: neither"
        )
    check_files(plan)
    for source, target in zip(sources, targets, strict=True):
        check_lines("test", source, target)
    names = [Path(path).stem for path in sources]
    if len(set(names)) < len(names):
        raise ValueError(
            "The files of --test_source must have different names, apart from folder and suffix. "
            f"Received: {', '.join(names)}"
        )


def check_text(recipes):
    """Rejects rows with the same languages but different encodings: they share one text.

    Args:
        recipes: {row: `Recipe`}.
    """
    first = {}
    for name, recipe in recipes.items():
        before = first.setdefault(PAPER[name].languages, name)
        if recipe.prepare_flags() != recipes[before].prepare_flags():
            changed = differences(recipes[before].experiment, recipe.experiment)
            path = next(path for path in changed if path.startswith("data."))
            ours, theirs = changed[path]
            raise ValueError(
                f"{before} and {name} share one text, so its settings must be the same. Set, for "
                f"example, --config.{path}={ours}, or make a table of each row. "
                f"Received: {path}={ours} and {theirs}"
            )


def recipe_of(plan, name, reduced=None):
    """Returns a row's `Recipe`; see `score_row`."""
    row = PAPER[name]
    return reduced_recipe(plan, row.config, row.averaged, row.checkpoints, reduced)


def score_row(plan, folder, name, run=None, reduced=None):
    """Trains a row unless a run is given, and yields a `Table2Result` for each test set.

    Args:
        plan: a `Plan`.
        folder: the output folder.
        name: name of the row.
        run: an existing `Run` to score. If None, a run is trained.
        reduced: name of the row's smaller config. If None, the row has the paper's settings.
    """
    row, stages = PAPER[name], functools.partial(Stages, folder / name, name)
    recipe = recipe_of(plan, name, reduced)
    data_set, text_folder = plan.tfds or row.data_set, folder / "-".join(row.languages)
    if run:
        weights = default_weights(run)
    else:
        run = Run(folder / name / "run")
        if not plan.evaluate_only:
            pair = text_folder.name
            text = encoded_text(plan, text_folder, pair, recipe, data_set, row.languages)
            train(stages(text.stages), run, recipe, text.folder, text.dev)
        weights = average(stages(), run, row.averaged)
    facts, reductions = facts_of(run), recipe.reductions(trained_experiment(run))
    search = recipe.experiment.search
    for test, source, target in test_sets(plan, text_folder, data_set, row.languages):
        output = folder / name / f"{test}.out"
        translate(stages(), f"translate-{test}", run, weights, search, source, output)
        lines, references = read_lines(output), read_lines(target)
        yield Table2Result(
            row=name,
            test=test,
            facts=facts,
            model=run.experiment().model,
            weights=weights.text,
            bleu=bleu(lines, references),
            paper_bleu=paper_bleu(lines, references, row.languages[1]),
            flops=training_cost(run),
            reductions=reductions,
            progress=progress_of(run),
        )


def test_sets(plan, folder, data_set, languages):
    """Yields name, source file and target file of each test set."""
    if plan.test_source:
        for source, target in zip(plan.test_source, plan.test_target, strict=True):
            yield Path(source).stem, source, target
    else:
        name = "test" if plan.tfds else "newstest2014"
        yield name, *tfds_files(plan, folder, data_set, languages, "test")


def training_cost(run):
    """Returns the floating-point operations of a run's training, or None if unknown."""
    evaluations = run.evaluations()
    return evaluations[-1].get("flops") if evaluations else None


def operations_of(result):
    """Returns the operations up to the last evaluation of a result's run, or None."""
    return result.progress[-1].operations if result.progress else None


def write_results(plan, folder, results):
    """Writes the table and the plot of all results so far; returns the table as Markdown."""
    draw_progress(folder / "table2.png", {each.row: each.progress for each in results})
    columns = {
        "row": lambda each: each.row,
        "settings": lambda each: "reduced" if each.reductions else "the paper's",
        "test set": lambda each: each.test,
        "lines": lambda each: f"{each.bleu.lines:,}",
        "pairs trained on": lambda each: number(each.facts.pairs, ","),
        "steps": lambda each: f"{each.facts.steps:,}",
        "10⁶ weights": lambda each: number(each.facts.millions),
        "sacreBLEU": lambda each: number(each.bleu.score),
        "BLEU": lambda each: number(each.paper_bleu.score),
        "paper BLEU, newstest2014": lambda each: number(PAPER[each.row].bleu, ".1f"),
        "10⁶ operations per token": lambda each: number(
            operations_per_token(each.model) / 1e6, ".3g"
        ),
        "longest path": lambda each: longest_path(each.model),
        "operations": lambda each: number(operations_of(each), ".1e"),
        "FLOPs": lambda each: number(each.flops, ".1e"),
        "paper FLOPs": lambda each: number(PAPER[each.row].flops, ".1e"),
    }
    notes = [
        "The paper: newstest2014, 3,003 lines, after training on 4.5 M pairs (En–De) or 36 M "
        "(En–Fr), 100,000 steps (base) or 300,000 (big).",
    ]
    for each in {each.row: each for each in results}.values():
        settings = ", ".join(each.reductions) or "the paper's settings"
        notes.append(f"{each.row}: {settings}; {each.weights}.")
    notes.append(f"sacreBLEU: {results[0].bleu.signature}")
    for signature in dict.fromkeys(each.paper_bleu.signature for each in results):
        notes.append(f"BLEU is the paper's metric, not comparable with sacreBLEU: {signature}")
    notes.append(
        "Operations: those of the matrix products in training, with a backward pass of two forward "
        f"passes; per token of source or target, in sentences of {TYPICAL_LENGTH} tokens. Longest "
        "path: between two positions of the source, as the paper gives it. FLOPs: training time × "
        "measured rate, as in the paper."
    )
    return write_table(folder / "table2", columns, results, [*notes, *circumstances(plan)])
