"""Table 3: the variations on the base model, each trained and measured on a held-out text.

All rows are trained on the same encoded text. Whatever makes the model and the training smaller
makes all rows smaller in the same way, so that each still differs from base as the paper's does:
--divide divides every width, --divide_layers N; h stays, for half of one head is none; "big" has
three times the steps of base. Perplexity is per piece, by the last checkpoint, as are the
translations: no checkpoints are averaged.
"""

import dataclasses
from typing import NamedTuple

from absl import flags

from pipelines.sources import find_files
from t2t_keras.cli.reproductions.recipes import (
    DIVIDE,
    DIVIDE_LAYERS,
    REDUCED,
    STEPS,
    Recipe,
    differences,
    override,
    shorten,
    shown,
)
from t2t_keras.cli.reproductions.stages import Stages, output_folder
from t2t_keras.cli.reproductions.tables import circumstances, number, signed, write_table
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
    toy_text,
)
from t2t_keras.cli.runs import Run
from t2t_keras.cli.translating import read_lines
from t2t_keras.decoding.scoring import perplexity
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.experiment import find_config, load_config_file, load_experiment
from t2t_keras.parameters import parameter_counts
from t2t_keras.training.checkpoints import Checkpoints

LANGUAGE = flags.DEFINE_string("language", "de", "table3: of the target, for the paper's BLEU.")
# Without any text.
TOY, TOY_WIDTHS, TOY_LAYERS = "toy_sweep", 8, 2


class Measured(NamedTuple):
    """What a row of the table says."""

    row: str
    changed: str
    steps: int
    perplexity: float
    bleu: Score
    paper_bleu: Score
    millions: float


def reproduce():
    table3 = load_config_file(find_config("table3"))
    rows = chosen(table3.MODELS, ROWS.value)
    real = check_text()
    if real and not DEV_SOURCE.value:
        raise ValueError("--dev_source and --dev_target are needed: the text to measure on")
    base = recipe_of("base", real)
    with output_folder("table3") as folder:
        data, dev = prepared(folder, base, real)
        found = []
        for row in rows:
            found.append(measured(folder / row, row, recipe_of(row, real), base, data, dev))
            text = write_rows(folder, found, base, data, dev)
        print(text, end="")


def recipe_of(row, real):
    """The paper's row, and ours.

    Args:
        real: whether there is text; if not, the toy grammar has sizes of its own.
    """
    config = f"table3:{row}"
    base, paper, ours = (load_experiment(c) for c in ("table3:base", config, config))
    times = paper.training.steps // base.training.steps
    ours.training.steps //= times
    if reduced := REDUCED.value or (None if real else TOY):
        ours = dataclasses.replace(load_experiment(reduced), model=ours.model)
        ours.training.label_smoothing = paper.training.label_smoothing
    if STEPS.value:
        shorten(ours.training, STEPS.value)
    ours.training.steps *= times
    widths, layers = (1, 1) if real else (TOY_WIDTHS, TOY_LAYERS)
    ours.model = ours.model.divided(DIVIDE.value or widths, DIVIDE_LAYERS.value or layers)
    override(ours, kept=differences(base, paper))
    return Recipe(config, ours, paper)


def prepared(folder, base, real):
    """The encoded text, and the two files to measure on."""
    if not real:
        source, target, *dev = toy_text(folder, base.experiment.data.toy_pairs)
        return prepare_files(folder, "toy grammar", base, source, target), dev
    dev = [DEV_SOURCE.value, DEV_TARGET.value]
    if DATA.value:
        return given_data(folder, "table 3", DATA.value), dev
    return prepare_files(folder, "table 3", base, SOURCE.value, TARGET.value), dev


def measured(folder, row, recipe, base, data, dev):
    """Trains and translates, unless that was done, and measures."""
    stages, run = Stages(folder, row, data.stages), folder / "run"
    steps = recipe.experiment.training.steps
    stages.do(
        *("train", "train"),
        [*recipe.flags(), f"--data={data.folder}", f"--run={run}", "--noexport"],
        creates=Checkpoints(run / "checkpoints").path(steps),
    )
    dev_files = [*find_files("dev_source", dev[0]), *find_files("dev_target", dev[1])]
    stages.do(
        *("score", "score"),
        [
            *(run, "--weights=newest", f"--source={dev[0]}", f"--target={dev[1]}"),
            f"--output={folder / 'dev.scores'}",
        ],
        creates=folder / "dev.scores",
        reads=dev_files,
    )
    stages.do(
        *("translate", "translate"),
        [run, "--weights=newest", f"--input={dev[0]}", f"--output={folder / 'dev.out'}"],
        creates=folder / "dev.out",
        reads=dev_files,
    )
    lines, references = read_lines(folder / "dev.out"), read_lines(dev[1])
    trained = Run(run)
    changed = differences(base.experiment, recipe.experiment)
    return Measured(
        row,
        ", ".join(f"{name.split('.')[-1]} {shown(after)}" for name, (_, after) in changed.items()),
        steps,
        perplexity_of(folder / "dev.scores"),
        bleu(lines, references),
        paper_bleu(lines, references, LANGUAGE.value),
        sum(parameter_counts(trained.experiment().model).values()) / 1e6,
    )


def perplexity_of(path):
    """The perplexity of all pairs of which t2t-score wrote log P and the number of pieces."""
    pairs = [line.split("\t") for line in read_lines(path)]
    return perplexity(sum(float(p[0]) for p in pairs), sum(int(p[2]) for p in pairs))


def write_rows(folder, found, base, data, dev):
    """The table of what was found so far."""
    table3 = load_config_file(find_config("table3"))
    ours = next((each for each in found if each.row == "base"), None)

    def both(name, value, form, printed=None, printed_form=""):
        """Columns of a measured value, its difference to base, and the paper's two."""
        columns = {
            name: lambda each: number(value(each), form),
            f"{name} − base": lambda each: signed(value(each), ours and value(ours), f"+{form}"),
        }
        if printed:
            columns |= {
                f"paper {name}": lambda each: number(printed.get(each.row), printed_form),
                f"paper {name} − base": lambda each: signed(
                    printed.get(each.row), printed["base"], f"+{printed_form}"
                ),
            }
        return columns

    columns = {
        "row": lambda each: each.row,
        "what differs": lambda each: each.changed,
        "steps": lambda each: f"{each.steps:,}",
        **both("PPL", lambda each: each.perplexity, ".3f", table3.PRINTED_PERPLEXITY, ".2f"),
        **both("sacreBLEU", lambda each: each.bleu.score, ".1f"),
        **both("BLEU", lambda each: each.paper_bleu.score, ".1f", table3.PRINTED_BLEU, ".1f"),
        **both("10⁶ weights", lambda each: each.millions, ".3f", table3.PRINTED_MILLIONS, "d"),
    }
    reductions = base.reductions()
    notes = [
        f"Trained on {data.pairs:,} sentence pairs, measured on {dev[1]}, "
        f"{found[0].bleu.lines:,} lines. The paper: WMT 2014 English–German, 4.5 M pairs, "
        "newstest2013.",
        f"Every row is reduced: {', '.join(reductions)}." if reductions else "Full size.",
        "PPL per piece, by the last checkpoint; beam search by the same, nothing averaged.",
        f"sacreBLEU: {found[0].bleu.signature}",
        f"BLEU, as the paper counts it and not to be compared with sacreBLEU: "
        f"{found[0].paper_bleu.signature}",
        *circumstances(),
    ]
    return write_table(folder / "table3", columns, found, notes)
