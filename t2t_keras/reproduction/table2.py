"""Table 2: BLEU and training cost of all systems, English–German and English–French (§6.1).

As in the paper, the last 5 checkpoints (big: 20) are averaged, the search has beam 4 and α = 0.6,
and the training cost is the training time times the measured rate of the devices. Each row locks
its own folder, so commands with different rows may run on one output folder at the same time.
"""

import functools
from pathlib import Path

from pipelines.atomic_files import locked_folder
from t2t_keras.reproduction.recipe import differences, reduced_recipe
from t2t_keras.reproduction.run_stages import (
    average,
    default_weights,
    existing_run,
    leave_gpus,
    train,
    translate,
)
from t2t_keras.reproduction.table2_grid import best, choices_of, search, shortened, write_grid
from t2t_keras.reproduction.table2_results import result_of, write_results
from t2t_keras.reproduction.table2_systems import ENSEMBLES, OWN, PAPER
from t2t_keras.reproduction.texts import check_files, chosen_rows, encoded_text, tfds_files
from t2t_keras.runs.run import Run
from t2t_keras.runs.text_files import read_set
from t2t_keras.stages.stages import Stages


def reproduce(plan):
    rows = chosen_rows(PAPER, plan.rows or OWN)
    check(plan, rows)
    reduced = dict(zip(rows, (plan.reduced or "").split(","), strict=False))
    run, choices = existing_run(plan), choices_of(plan, rows)
    # Make all recipes first, so that a wrong setting is found before anything is trained.
    recipes = {name: recipe_of(plan, name, reduced.get(name)) for name in rows}
    tried = {
        name: {
            choice: shortened(recipe_of(each, name, reduced.get(name)))
            for choice, each in choices[name].items()
        }
        for name in rows
    }
    if not (run or plan.data or plan.evaluate_only):
        check_text(recipes)
    leave_gpus()
    folder, results, grid = plan.folder, [], {}
    for name in rows:
        with locked_folder(folder / name):
            ours = plan
            text, tests = texts_of(plan, folder, name, recipes[name], run)
            if text and tried[name]:
                grid[name] = search(folder / name, name, tried[name], text)
                ours = choices[name][best(grid[name]).choice]
            results += score_row(ours, folder, name, run, reduced.get(name), text, tests)
        with locked_folder(folder, wait=True):
            if grid:
                write_grid(plan, folder, grid)
            markdown = write_results(plan, folder, results)
    return markdown


def texts_of(plan, folder, name, recipe, run):
    """Returns the row's `EncodedText`, or None if nothing is trained, and its test sets.

    Rows of the same languages share these files. Only one process at a time writes them.
    """
    row = PAPER[name]
    data_set, pair = plan.tfds or row.data_set, "-".join(row.languages)
    with locked_folder(folder, wait=True):
        text = None
        if not (run or plan.evaluate_only):
            text = encoded_text(plan, folder / pair, pair, recipe, data_set, row.languages)
        return text, list(test_sets(plan, folder / pair, data_set, row.languages))


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
        read_set("--test_source and --test_target", source, target)
    names = [Path(path).stem for path in sources]
    if len(set(names)) < len(names):
        raise ValueError(
            "The files of --test_source must have different names, apart from folder and suffix. "
            f"Received: {', '.join(names)}"
        )


def check_text(recipes):
    """Rejects rows with the same languages but different encodings: they share one text."""
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


def recipe_of(plan, name, reduced=None, further=0):
    """Returns a row's `Recipe`; `further` is added to the random seed. See `score_row`."""
    row = PAPER[name]
    recipe = reduced_recipe(plan, row.config, row.averaged, row.checkpoints, reduced)
    recipe.experiment.training.seed += further
    return recipe


def score_row(plan, folder, name, run, reduced, text, tests):
    """Trains a row with each seed, unless it is given a run; yields `Table2Result`s.

    There is one for each seed and test set (name, source file, target file). If the row also has an
    ensemble in the paper, several seeds make up an ensemble.
    """
    row, runs = PAPER[name], []
    for further in range(plan.seeds):
        recipe = recipe_of(plan, name, reduced, further)
        seed = f"{name}-seed{recipe.experiment.training.seed}" if further else name
        stages = functools.partial(Stages, folder / seed, seed)
        each = run or Run(folder / seed / "run")
        if text:
            train(stages(text.stages), each, recipe, text.folder, text.dev)
        weights = default_weights(each) if run else average(stages(), each, row.averaged)
        runs.append((each, weights))
        for test, source, target in tests:
            output = folder / seed / f"{test}.out"
            search = recipe.experiment.search
            translate(stages(), f"translate-{test}", [runs[-1]], search, source, output)
            yield result_of(name, test, recipe, runs[-1:], output, target)
    if len(runs) > 1 and name in ENSEMBLES:
        for test, source, target in tests:
            output = folder / name / f"{test}.ensemble.out"
            stages = Stages(folder / name, f"{name} ensemble")
            search = recipe.experiment.search
            translate(stages, f"translate-{test}-ensemble", runs, search, source, output)
            yield result_of(f"{name}_ensemble", test, recipe, runs, output, target)


def test_sets(plan, folder, data_set, languages):
    """Yields name, source file and target file of each test set."""
    if plan.test_source:
        for source, target in zip(plan.test_source, plan.test_target, strict=True):
            yield Path(source).stem, source, target
    else:
        name = "test" if plan.tfds else "newstest2014"
        yield name, *tfds_files(plan, folder, data_set, languages, "test")
