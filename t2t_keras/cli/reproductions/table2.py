"""Table 2: English–German and English–French, base and big, from text to BLEU and cost.

Prepare, train, average the last 5 checkpoints (base) or 20 (big), translate with beam 4, α = 0.6,
score in both ways. Without files the text is that of TensorFlow Datasets: newstest2014 is the test
set, newstest2013 what is evaluated on while training. The training's cost is its seconds times the
devices' measured rate, as the paper counts it.
"""

from pathlib import Path
from typing import NamedTuple

from absl import flags

from pipelines.sources import find_files
from pipelines.whole import read_json
from t2t_keras.cli.reproductions.recipes import REDUCED, RUN, made_smaller
from t2t_keras.cli.reproductions.stages import Stages, output_folder
from t2t_keras.cli.reproductions.tables import circumstances, number, write_table
from t2t_keras.cli.reproductions.texts import (
    DATA,
    DEV_SOURCE,
    DEV_TARGET,
    ROWS,
    SOURCE,
    TARGET,
    check_text,
    chosen,
    given_data,
    prepare_files,
    prepare_tfds,
    tfds_text,
)
from t2t_keras.cli.runs import Run
from t2t_keras.cli.translating import read_lines
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.parameters import parameter_counts
from t2t_keras.training.checkpoints import Checkpoints

TEST_SOURCE = flags.DEFINE_list("test_source", None, "table2: test sets, the source of each.")
TEST_TARGET = flags.DEFINE_list("test_target", None, "table2: their translations.")
TFDS = flags.DEFINE_string("tfds", None, "table2: another data set than WMT 2014, or its folder.")
DATA_DIR = flags.DEFINE_string("data_dir", None, "table2: where TFDS keeps prepared data sets.")
EVALUATE_ONLY = flags.DEFINE_bool("evaluate_only", False, "table2: of runs that are there.")


class Row(NamedTuple):
    """A recipe, and what the paper prints of it."""

    config: str
    data_set: str
    languages: tuple
    averaged: int
    bleu: float
    flops: float

    def of_tfds(self):
        return TFDS.value or self.data_set, self.languages, DATA_DIR.value


ENDE = ("wmt14_translate/de-en", ("en", "de"))
ENFR = ("wmt14_translate/fr-en", ("en", "fr"))
RECIPES = {
    "ende_base": Row("wmt14_ende:base", *ENDE, 5, 27.3, 3.3e18),
    "ende_big": Row("wmt14_ende:big", *ENDE, 20, 28.4, 2.3e19),
    "enfr_base": Row("wmt14_enfr:base", *ENFR, 5, 38.1, 3.3e18),
    "enfr_big": Row("wmt14_enfr:big", *ENFR, 20, 41.8, 2.3e19),  # 41.0 in the first version
}


class Measured(NamedTuple):
    """What a line of the table says: a row on one test set; None for what is not known."""

    row: str
    test: str
    pairs: int | None
    steps: int
    averaged: str
    millions: float
    bleu: Score
    paper_bleu: Score
    flops: float | None
    reductions: list


def reproduce():
    rows = chosen(RECIPES, ROWS.value)
    check_rows(rows)
    with output_folder("table2") as folder:
        found = []
        for name in rows:
            row = RECIPES[name]
            run, data = trained(folder, name, row)
            found += evaluated(folder / name, name, row, run, data)
            text = write_rows(folder, found)
        print(text, end="")


def check_rows(rows):
    files = check_text()
    if files and TFDS.value:
        raise ValueError("Say where the text is, in one way: --tfds=NAME, or files, or --data")
    if (REDUCED.value or RUN.value) and len(rows) > 1:
        raise ValueError(
            "--reduced and --run are for one row: name it, for example --rows=ende_base. "
            f"Received: {', '.join(rows)}"
        )
    pairs = {RECIPES[name].languages for name in rows}
    if (files or TEST_SOURCE.value) and len(pairs) > 1:
        raise ValueError(
            "Files are of one pair of languages: name rows of one, for example "
            f"--rows=ende_base,ende_big. Received: {', '.join(rows)}"
        )
    if len(TEST_SOURCE.value or []) != len(TEST_TARGET.value or []):
        raise ValueError(
            "--test_source and --test_target must name as many files. Received: "
            f"{TEST_SOURCE.value} and {TEST_TARGET.value}"
        )
    if files and not TEST_SOURCE.value:
        raise ValueError("--test_source and --test_target are needed: the text to score on")
    for path in [*(TEST_SOURCE.value or []), *(TEST_TARGET.value or [])]:
        find_files("test", path)


def trained(folder, name, row):
    """The run of a row, trained and averaged unless that was done, and how many pairs it read."""
    run = Run(RUN.value or folder / name / "run")
    if RUN.value or EVALUATE_ONLY.value:
        data = Path(run.experiment().data.folder)
        average(Stages(folder / name, name), run, row.averaged)
        return run, read_json(data / "report.json", {}).get("counts", {}).get("kept")
    recipe = made_smaller(row.config, row.averaged)
    data, dev = prepared(folder, recipe, row)
    stages = Stages(folder / name, name, data.stages)
    stages.do(
        *("train", "train"),
        [*recipe.flags(), f"--data={data.folder}", f"--run={run.folder}", *dev, "--noexport"],
        creates=Checkpoints(run.folder / "checkpoints").path(recipe.experiment.training.steps),
    )
    average(stages, run, row.averaged)
    return run, data.pairs


def prepared(folder, recipe, row):
    """The encoded text, and the flags of t2t-train that say what to evaluate on."""
    name, dev = "-".join(row.languages), [DEV_SOURCE.value, DEV_TARGET.value]
    if SOURCE.value:
        data = prepare_files(folder / name, name, recipe, SOURCE.value, TARGET.value)
    elif DATA.value:
        data = given_data(folder / name, name, DATA.value)
    else:
        data = prepare_tfds(folder / name, name, recipe, *row.of_tfds())
        if not all(dev):
            held_out = "validation" if TFDS.value else "newstest2013"
            dev = tfds_text(folder / name, held_out, *row.of_tfds(), "validation")
    return data, [f"--dev_source={dev[0]}", f"--dev_target={dev[1]}"] if all(dev) else []


def average(stages, run, wanted):
    """Averages the last checkpoints, as many as are wanted or there are.

    What somebody else's run has averaged stays.
    """
    if RUN.value and run.averaged_weights.exists():
        return
    last = min(wanted, len(Checkpoints(run.folder / "checkpoints").steps()))
    stages.do(
        *("average", "average", [run.folder, f"--last={last}"]),
        creates=run.averaged_weights,
    )


def evaluated(folder, name, row, run, pairs):
    """A run's translations of every test set, and their scores."""
    experiment, recipe = run.experiment(), made_smaller(row.config, row.averaged)
    search = recipe.experiment.search
    steps = Checkpoints(run.folder / "checkpoints").steps()
    averaged = f"the last {min(row.averaged, len(steps))} checkpoints averaged"
    for test, source, target in test_sets(folder.parent, row):
        output = folder / f"{test}.out"
        Stages(folder, name).do(
            *(f"translate-{test}", "translate"),
            [
                *(run.folder, "--weights=averaged", f"--beam={search.beam}"),
                *(f"--alpha={search.alpha}", f"--extra_length={search.extra_length}"),
                *(f"--input={source}", f"--output={output}"),
            ],
            creates=output,
            reads=[run.averaged_weights, source],
        )
        lines, references = read_lines(output), read_lines(target)
        yield Measured(
            name,
            test,
            pairs,
            steps[-1] if steps else experiment.training.steps,
            "its own averaged weights" if RUN.value else averaged,
            sum(parameter_counts(experiment.model).values()) / 1e6,
            bleu(lines, references),
            paper_bleu(lines, references, row.languages[1]),
            cost(run),
            recipe.reductions(experiment),
        )


def test_sets(folder, row):
    """A name and two files for each test set."""
    if TEST_SOURCE.value:
        for source, target in zip(TEST_SOURCE.value, TEST_TARGET.value, strict=True):
            yield Path(source).stem, source, target
    else:
        name = "test" if TFDS.value else "newstest2014"
        place = folder / "-".join(row.languages)
        place.mkdir(parents=True, exist_ok=True)
        yield name, *tfds_text(place, name, *row.of_tfds(), "test")


def cost(run):
    """What the training cost in floating-point operations, if it was noted."""
    try:
        return run.evaluations()[-1]["flops"]
    except ValueError:
        return None


def write_rows(folder, found):
    """The table of what was found so far."""
    columns = {
        "row": lambda each: each.row,
        "test set": lambda each: each.test,
        "lines": lambda each: f"{each.bleu.lines:,}",
        "pairs trained on": lambda each: number(each.pairs, ","),
        "steps": lambda each: f"{each.steps:,}",
        "10⁶ weights": lambda each: number(each.millions),
        "sacreBLEU": lambda each: number(each.bleu.score),
        "BLEU": lambda each: number(each.paper_bleu.score),
        "paper BLEU": lambda each: number(RECIPES[each.row].bleu, ".1f"),
        "FLOPs": lambda each: number(each.flops, ".1e"),
        "paper FLOPs": lambda each: number(RECIPES[each.row].flops, ".1e"),
    }
    notes = [
        "The paper: newstest2014, 3,003 lines, after training on 4.5 M pairs (En–De) or 36 M "
        "(En–Fr), 100,000 steps (base) or 300,000 (big).",
    ]
    for each in {each.row: each for each in found}.values():
        differs = ", ".join(each.reductions) or "the paper's settings"
        notes.append(f"{each.row}: {differs}; {each.averaged}.")
    notes += [f"sacreBLEU: {found[0].bleu.signature}"]
    for signature in dict.fromkeys(each.paper_bleu.signature for each in found):
        notes.append(
            f"BLEU, as the paper counts it and not to be compared with sacreBLEU: {signature}"
        )
    return write_table(folder / "table2", columns, found, [*notes, *circumstances()])
