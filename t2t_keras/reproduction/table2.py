"""Table 2: English–German and English–French, base and big, from text to BLEU and cost.

Prepare, train, average the last 5 checkpoints (base) or 20 (big), translate with beam 4, α = 0.6,
score in both ways. Without files the text is that of TensorFlow Datasets: newstest2014 is the test
set, newstest2013 what is evaluated on while training. The training's cost is its seconds times the
devices' measured rate, as the paper counts it.
"""

import functools
from pathlib import Path
from typing import NamedTuple

from absl import flags

from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.reproduction.given_run import RUN, given_run
from t2t_keras.reproduction.recipes import REDUCED, made_smaller
from t2t_keras.reproduction.run_stages import (
    Facts,
    as_trained,
    average,
    facts_of,
    train,
    translate,
    weights_of,
)
from t2t_keras.reproduction.stages import Stages, output_folder
from t2t_keras.reproduction.tables import circumstances, number, write_table
from t2t_keras.reproduction.texts import (
    DATA,
    DEV_SOURCE,
    DEV_TARGET,
    ROWS,
    SOURCE,
    TARGET,
    TFDS,
    check_lines,
    check_text,
    chosen_rows,
    given_data,
    prepare_files,
    prepare_tfds,
    tfds_text,
)
from t2t_keras.runs.lines import read_lines
from t2t_keras.runs.run import Run

TEST_SOURCE = flags.DEFINE_list("test_source", None, "table2: test sets, the source of each.")
TEST_TARGET = flags.DEFINE_list("test_target", None, "table2: their translations.")
EVALUATE_ONLY = flags.DEFINE_bool("evaluate_only", False, "table2: of runs that are there.")


class Row(NamedTuple):
    """A recipe, and what the paper prints of it.

    Args:
        checkpoints: that its training wrote, one every ten minutes, and of these were averaged.
    """

    config: str
    data_set: str
    languages: tuple
    checkpoints: int
    averaged: int
    bleu: float
    flops: float

    @property
    def text(self):
        """The TensorFlow data set, and its languages."""
        return TFDS.value or self.data_set, self.languages

    def recipe(self):
        return made_smaller(self.config, self.averaged, self.checkpoints)


ENDE = ("wmt14_translate/de-en", ("en", "de"))
ENFR = ("wmt14_translate/fr-en", ("en", "fr"))
BASE, BIG = (72, 5), (504, 20)  # 12 hours, 3.5 days
RECIPES = {
    "ende_base": Row("wmt14_ende:base", *ENDE, *BASE, 27.3, 3.3e18),
    "ende_big": Row("wmt14_ende:big", *ENDE, *BIG, 28.4, 2.3e19),
    "enfr_base": Row("wmt14_enfr:base", *ENFR, *BASE, 38.1, 3.3e18),
    "enfr_big": Row("wmt14_enfr:big", *ENFR, *BIG, 41.8, 2.3e19),  # 41.0 in the first version
}


class Measured(NamedTuple):
    """What a line of the table says: a row on one test set."""

    row: str
    test: str
    facts: Facts
    weights: str
    bleu: Score
    paper_bleu: Score
    flops: float | None
    reductions: list


def reproduce():
    rows = chosen_rows(RECIPES, ROWS.value)
    check_rows(rows)
    given = given_run(SOURCE, DATA, DEV_SOURCE, EVALUATE_ONLY)
    with output_folder("table2") as folder:
        found = []
        for name in rows:
            found += measured(folder, name, RECIPES[name], given)
            text = write_rows(folder, found)
        print(text, end="")


def check_rows(rows):
    """Refuses flags that do not go together or with these rows, and files that are not there."""
    text, tests = check_text(), TEST_SOURCE.value or []
    if (REDUCED.value or RUN.value) and len(rows) > 1:
        raise ValueError(
            "--reduced and --run are for one row: name it, for example --rows=ende_base. "
            f"Received: {', '.join(rows)}"
        )
    pairs = {RECIPES[name].languages for name in rows}
    if (text or tests) and len(pairs) > 1:
        raise ValueError(
            "A text is of one pair of languages: name rows of one, for example "
            f"--rows=ende_base,ende_big. Received: {', '.join(rows)}"
        )
    if len(tests) != len(TEST_TARGET.value or []):
        raise ValueError(
            "--test_source and --test_target must name as many files. Received: "
            f"{TEST_SOURCE.value} and {TEST_TARGET.value}"
        )
    if text and not TFDS.value and not tests:
        raise ValueError("--test_source and --test_target are needed: the text to score on")
    for pair in zip(tests, TEST_TARGET.value or [], strict=True):
        check_lines("test", *pair)
    names = [Path(path).stem for path in tests]
    if len(set(names)) < len(names):
        raise ValueError(f"Test sets need names of their own. Received: {', '.join(names)}")


def measured(folder, name, row, given):
    """Trains and translates what is missing, and scores each test set.

    Args:
        given: somebody's run, which is only evaluated; or None.
    """
    recipe, stages = row.recipe(), functools.partial(Stages, folder / name, name)
    if given:
        run, weights = given, weights_of(given)
    else:
        run = Run(folder / name / "run")
        if not EVALUATE_ONLY.value:
            data, dev = prepared(folder, recipe, row)
            train(stages(data.stages), run, recipe, data.folder, *dev)
        weights = average(stages(), run, row.averaged)
    facts, reductions = facts_of(run), recipe.reductions(as_trained(run))
    search = recipe.experiment.search
    for test, source, target in test_sets(folder, row):
        output = folder / name / f"{test}.out"
        translate(stages(), f"translate-{test}", run, weights, search, source, output)
        lines, references = read_lines(output), read_lines(target)
        yield Measured(
            row=name,
            test=test,
            facts=facts,
            weights=weights.text,
            bleu=bleu(lines, references),
            paper_bleu=paper_bleu(lines, references, row.languages[1]),
            flops=cost(run),
            reductions=reductions,
        )


def prepared(folder, recipe, row):
    """The encoded text, and the flags of t2t-train that say what to evaluate on."""
    name, dev = "-".join(row.languages), [DEV_SOURCE.value, DEV_TARGET.value]
    if SOURCE.value:
        data = prepare_files(folder / name, name, recipe, SOURCE.value, TARGET.value)
    elif DATA.value:
        data = given_data(folder / name, name, DATA.value)
    else:
        data = prepare_tfds(folder / name, name, recipe, *row.text)
        if not all(dev):
            dev = tfds_text(folder / name, *row.text, "validation")  # newstest2013
    return data, [f"--dev_source={dev[0]}", f"--dev_target={dev[1]}"] if all(dev) else []


def test_sets(folder, row):
    """A name and two files for each test set."""
    if TEST_SOURCE.value:
        for source, target in zip(TEST_SOURCE.value, TEST_TARGET.value, strict=True):
            yield Path(source).stem, source, target
    else:
        name = "test" if TFDS.value else "newstest2014"
        yield name, *tfds_text(folder / "-".join(row.languages), *row.text, "test")


def cost(run):
    """What the training cost in floating-point operations, if it was noted."""
    evaluations = run.evaluations_so_far()
    return evaluations[-1].get("flops") if evaluations else None


def write_rows(folder, found):
    """The table of what was found so far."""
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
        "paper BLEU, newstest2014": lambda each: number(RECIPES[each.row].bleu, ".1f"),
        "FLOPs": lambda each: number(each.flops, ".1e"),
        "paper FLOPs": lambda each: number(RECIPES[each.row].flops, ".1e"),
    }
    notes = [
        "The paper: newstest2014, 3,003 lines, after training on 4.5 M pairs (En–De) or 36 M "
        "(En–Fr), 100,000 steps (base) or 300,000 (big).",
    ]
    for each in {each.row: each for each in found}.values():
        differs = ", ".join(each.reductions) or "the paper's settings"
        notes.append(f"{each.row}: {differs}; {each.weights}.")
    notes += [f"sacreBLEU: {found[0].bleu.signature}"]
    for signature in dict.fromkeys(each.paper_bleu.signature for each in found):
        notes.append(
            f"BLEU, as the paper counts it and not to be compared with sacreBLEU: {signature}"
        )
    return write_table(folder / "table2", columns, found, [*notes, *circumstances()])
