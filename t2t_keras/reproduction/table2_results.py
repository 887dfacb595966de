"""The results of Table 2: scores and costs of trainings and ensembles, as a table and a picture."""

import statistics
from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import read_json
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.reproduction.longest_path import longest_path
from t2t_keras.reproduction.recipe import TYPICAL_LENGTH, Recipe, operations_per_token
from t2t_keras.reproduction.run_stages import millions_of, pairs_of, steps_of, trained_experiment
from t2t_keras.reproduction.table2_progress import draw_progress, progress_of
from t2t_keras.reproduction.table2_systems import ENSEMBLES, PAPER
from t2t_keras.runs.text_files import read_lines
from t2t_keras.stages.table_writer import circumstances, number, write_table


class Table2Result(NamedTuple):
    """The scores on one test set, of a training or of an ensemble."""

    row: str
    test: str
    recipe: Recipe
    runs: list  # (`Run`, `ChosenWeights`) of each training; the facts describe the first
    bleu: Score
    paper_bleu: Score

    @property
    def run(self):
        return self.runs[0][0]


def result_of(row, test, recipe, runs, output, target):
    """Returns the `Table2Result` of a test set that `runs`, (run, weights), have translated."""
    lines, references = read_lines(output), read_lines(target)
    language = PAPER[row.removesuffix("_ensemble")].languages[1]
    scores = bleu(lines, references), paper_bleu(lines, references, language)
    return Table2Result(row, test, recipe, runs, *scores)


def total(runs, cost):
    """Returns the sum of a cost over runs, or None if one of them lacks it."""
    costs = [cost(run) for run, _ in runs]
    return None if None in costs else sum(costs)


def training_cost(run):
    """Returns the floating-point operations of a run's training, or None if unknown."""
    evaluations = run.evaluations()
    return evaluations[-1].get("flops") if evaluations else None


def operations_of(run):
    """Returns the operations up to the last evaluation of a run, or None."""
    progress = progress_of(run)
    return progress[-1].operations if progress else None


def epochs_of(run):
    """Returns how many times a run has read its text up to its last evaluation, or None."""
    folder, evaluations = run.experiment().data.folder, run.evaluations()
    report = read_json(Path(folder) / "report.json", {}) if folder else {}
    if not (report.get("sides") and evaluations and "tokens" in evaluations[-1]):
        return None
    pieces = sum(pieces_read(side, report) for side in report["sides"].values())
    end_tokens = 2 * pairs_of(run)
    return evaluations[-1]["tokens"] / (pieces + end_tokens)


def pieces_read(side, report):
    """Returns the mean number of pieces that an epoch reads of a side of the prepared text."""
    if "pieces_a_word_with_dropout" not in side:
        return side["pieces"]
    encodings = report["encodings"]  # all but the first one are made with BPE dropout
    with_dropout = side["pieces_a_word_with_dropout"] * side["words"]
    return (side["pieces"] + (encodings - 1) * with_dropout) / encodings


def printed(row):
    """Returns the paper's BLEU and training cost of a row or an ensemble; None if not given."""
    name = row.removesuffix("_ensemble")
    return ENSEMBLES[name] if name != row else (PAPER[row].bleu, PAPER[row].flops)


def write_results(plan, folder, results):
    """Writes the table and the plot of all results so far; returns the table as Markdown."""
    groups = {}
    for each in results:
        groups.setdefault((each.row, each.test), []).append(each)
    single = {row: group for (row, _), group in groups.items() if len(group[0].runs) == 1}
    progress = {row: [progress_of(each.run) for each in group] for row, group in single.items()}
    draw_progress(folder / "table2.png", progress)

    reductions = {
        row: each.recipe.reductions(trained_experiment(each.run))
        for (row, _), (each, *_) in groups.items()
    }
    rows = [
        row_of(plan, group, reductions[row], progress.get(row, ()))
        for (row, _), group in groups.items()
    ]
    notes = [
        "The paper: newstest2014, 3,003 lines, after training on 4.5 M pairs (En–De) or 36 M "
        "(En–Fr), 100,000 steps (base) or 300,000 (big).",
    ]
    for (row, _), (each, *_) in groups.items():
        settings = ", ".join(reductions[row]) or "the paper's settings"
        together = f"; {len(each.runs)} trainings together" if len(each.runs) > 1 else ""
        notes.append(f"{row}: {settings}; {each.runs[0][1].text}{together}.")
    notes = list(dict.fromkeys(notes))  # one for each row, not for each test set
    notes.append(f"sacreBLEU: {results[0].bleu.signature}")
    for signature in dict.fromkeys(each.paper_bleu.signature for each in results):
        notes.append(f"BLEU is the paper's metric, not comparable with sacreBLEU: {signature}")
    notes.append(
        "Operations: matrix products in training, with a backward pass of two forward "
        f"passes; per token of source or target, in sentences of {TYPICAL_LENGTH} tokens. Longest "
        "path: between two positions of the source, as the paper gives it. FLOPs: training time × "
        "measured rate, as in the paper. Minutes: duration of the training steps."
    )
    if plan.seeds > 1:
        notes.append(
            "BLEU and minutes are means over the seeds; all other figures are the first seed's. An "
            "ensemble's weights, operations and FLOPs are sums over its trainings; its operations "
            "per token are for one model."
        )
    notes.append(
        "Not done: the replacement of unknown words (PosUnk), which sub-words do not need, and "
        "GNMT's reinforcement learning. The training of the paper's ensembles costs eight times as "
        "much as a single model."
    )
    return write_table(folder / "table2", rows, [*notes, *circumstances(plan)])


def row_of(plan, of_seeds, reductions, progress):
    each = of_seeds[0]
    experiment, scores = each.run.experiment(), [number(one.bleu.score) for one in of_seeds]
    paper_bleu, paper_flops = printed(each.row)
    seconds = [of_seed[-1].seconds for of_seed in progress if of_seed]
    return {
        "row": each.row,
        "settings": "reduced" if reductions else "the paper's",
        "test set": each.test,
        "lines": f"{each.bleu.lines:,}",
        "pairs trained on": number(pairs_of(each.run), ","),
        "epochs": number(epochs_of(each.run), ".1f"),
        "steps": f"{steps_of(each.run):,}",
        "10⁶ weights": number(total(each.runs, millions_of)),
        "sacreBLEU": number(statistics.mean(one.bleu.score for one in of_seeds)),
        **(
            {"sacreBLEU of each seed": ", ".join(scores) if len(scores) > 1 else ""}
            if plan.seeds > 1
            else {}
        ),
        "BLEU": number(statistics.mean(one.paper_bleu.score for one in of_seeds)),
        "paper BLEU, newstest2014": number(paper_bleu, ".1f"),
        "10⁶ operations per token": number(operations_per_token(experiment) / 1e6, ".3g"),
        "longest path": longest_path(experiment.model),
        "minutes": number(statistics.mean(seconds) / 60, ".1f") if seconds else "",
        "operations": number(total(each.runs, operations_of), ".1e"),
        "FLOPs": number(total(each.runs, training_cost), ".1e"),
        "paper FLOPs": number(paper_flops, ".1e"),
    }
