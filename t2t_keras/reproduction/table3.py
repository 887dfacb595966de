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
from t2t_keras.decoding.scoring import perplexity
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.experiment import Experiment, find_config, load_config_file, load_experiment
from t2t_keras.reproduction.recipes import (
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
from t2t_keras.reproduction.run_stages import as_trained, facts_of, train
from t2t_keras.reproduction.stages import Stages, output_folder
from t2t_keras.reproduction.tables import circumstances, number, signed, write_table
from t2t_keras.reproduction.texts import (
    DATA,
    DEV_SOURCE,
    DEV_TARGET,
    ROWS,
    SOURCE,
    TARGET,
    TFDS,
    check_text,
    chosen_rows,
    given_data,
    prepare_files,
    prepare_tfds,
    tfds_text,
    toy_text,
)
from t2t_keras.runs.lines import read_lines
from t2t_keras.runs.run import Run

LANGUAGE = flags.DEFINE_string("language", "de", "table3: of the target, for the paper's BLEU.")
# Without any text.
TOY, TOY_WIDTHS, TOY_LAYERS = "toy_sweep", 8, 2


class Measured(NamedTuple):
    """What a row of the table says, and the settings that it was trained with."""

    row: str
    changed: str
    steps: int
    perplexity: float
    bleu: Score
    paper_bleu: Score
    millions: float
    trained: Experiment


def reproduce():
    table3 = load_config_file(find_config("table3"))
    rows = chosen_rows(table3.MODELS, ROWS.value)
    has_text = check_text()
    if has_text and not (TFDS.value or DEV_SOURCE.value):
        raise ValueError("--dev_source and --dev_target are needed: the text to measure on")
    base = recipe_of("base", has_text)
    with output_folder("table3") as folder:
        data, dev = prepared(folder, base, has_text)
        found = []
        for row in rows:
            recipe = recipe_of(row, has_text)
            found.append(measured(folder / row, row, recipe, base, data, dev))
            text = write_rows(folder, found, base, data, dev)
        print(text, end="")


def recipe_of(row, has_text):
    """The paper's row, and ours: the reduced base, changed as the paper's base is for this row.

    Args:
        has_text: whether there is text; if not, the toy grammar has sizes of its own.
    """
    config = f"table3:{row}"
    base, paper, ours = (load_experiment(c) for c in ("table3:base", config, config))
    longer = paper.training.steps // base.training.steps  # "big"
    ours.training.steps = base.training.steps
    if reduced := REDUCED.value or (None if has_text else TOY):
        ours = dataclasses.replace(load_experiment(reduced), model=ours.model)
        ours.training.label_smoothing = paper.training.label_smoothing
    if STEPS.value:
        shorten(ours.training, STEPS.value)
    ours.training.steps *= longer
    widths, layers = (1, 1) if has_text else (TOY_WIDTHS, TOY_LAYERS)
    ours.model = ours.model.divided(DIVIDE.value or widths, DIVIDE_LAYERS.value or layers)
    override(ours, kept=differences(base, paper))
    return Recipe(config, ours, paper)


def prepared(folder, base, has_text):
    """The encoded text, and the two files to measure on."""
    if not has_text:
        source, target, *dev = toy_text(folder, base.experiment.data.toy_pairs)
        return prepare_files(folder, "toy grammar", base, source, target), dev
    dev = [DEV_SOURCE.value, DEV_TARGET.value]
    if TFDS.value:
        text = TFDS.value, ("en", LANGUAGE.value)
        dev = dev if all(dev) else tfds_text(folder, *text, "validation")
        return prepare_tfds(folder, "table 3", base, *text), dev
    if DATA.value:
        return given_data(folder, "table 3", DATA.value), dev
    return prepare_files(folder, "table 3", base, SOURCE.value, TARGET.value), dev


def measured(folder, row, recipe, base, data, dev):
    """Trains and translates, unless that was done, and measures."""
    stages, run = Stages(folder, row, data.stages), Run(folder / "run")
    train(stages, run, recipe, data.folder)
    weights = f"--weights={recipe.experiment.training.steps}"
    dev_files = [*find_files("dev_source", dev[0]), *find_files("dev_target", dev[1])]
    scores, output = folder / "dev.scores", folder / "dev.out"
    stages.do(
        stage="score",
        command="score",
        arguments=[
            *(run.folder, weights, f"--source={dev[0]}", f"--target={dev[1]}"),
            f"--output={scores}",
        ],
        creates=scores,
        reads=dev_files,
    )
    stages.do(
        stage="translate",
        command="translate",
        arguments=[run.folder, weights, f"--input={dev[0]}", f"--output={output}"],
        creates=output,
        reads=dev_files,
    )
    lines, references = read_lines(output), read_lines(dev[1])
    changed = differences(base.experiment, recipe.experiment)
    return Measured(
        row=row,
        changed=", ".join(
            f"{name.split('.')[-1]} {shown(after)}" for name, (_, after) in changed.items()
        ),
        steps=recipe.experiment.training.steps,
        perplexity=perplexity_of(scores),
        bleu=bleu(lines, references),
        paper_bleu=paper_bleu(lines, references, LANGUAGE.value),
        millions=facts_of(run).millions,
        trained=as_trained(run),
    )


def perplexity_of(path):
    """The perplexity of all pairs of which t2t-score wrote log P and the number of pieces."""
    pairs = [line.split("\t") for line in read_lines(path)]
    return perplexity(sum(float(p[0]) for p in pairs), sum(int(p[2]) for p in pairs))


def write_rows(folder, found, base, data, dev):
    """The table of what was found so far."""
    table3 = load_config_file(find_config("table3"))
    ours = next((each for each in found if each.row == "base"), None)
    # Of the text all rows have the settings that the first was trained with.
    as_base = dataclasses.replace(base.experiment, data=found[0].trained.data)
    reductions = base.reductions(as_base)
    columns = {
        "row": lambda each: each.row,
        "what differs": lambda each: each.changed,
        "settings": lambda each: "reduced" if reductions else "the paper's",
        "steps": lambda each: f"{each.steps:,}",
        **beside_base("PPL", lambda each: each.perplexity, ours, ".3f"),
        **beside_paper("PPL", table3.PRINTED_PERPLEXITY, ".2f"),
        **beside_base("sacreBLEU", lambda each: each.bleu.score, ours, ".1f"),
        **beside_base("BLEU", lambda each: each.paper_bleu.score, ours, ".1f"),
        **beside_paper("BLEU", table3.PRINTED_BLEU, ".1f"),
        **beside_base("10⁶ weights", lambda each: each.millions, ours, ".3f"),
        **beside_paper("10⁶ weights", table3.PRINTED_MILLIONS, "d"),
    }
    notes = [
        f"Trained on {number(data.pairs, ',')} sentence pairs, measured on {dev[1]}, "
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


def beside_base(name, value, base, form):
    """Columns of what was measured, and of its difference to base."""
    return {
        name: lambda each: number(value(each), form),
        f"{name} − base": lambda each: signed(value(each), base and value(base), f"+{form}"),
    }


def beside_paper(name, printed, form):
    """The same of what the paper prints, by row."""
    return {
        f"paper {name}": lambda each: number(printed.get(each.row), form),
        f"paper {name} − base": lambda each: signed(
            printed.get(each.row), printed["base"], f"+{form}"
        ),
    }
