"""The results of Table 2: scores and costs of trainings and ensembles, as a table and a picture."""

import statistics
from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import read_json
from t2t_keras.evaluation.bleu import Score, bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.reproduction.longest_path import longest_path
from t2t_keras.reproduction.recipe import TYPICAL_LENGTH, operations_per_token
from t2t_keras.reproduction.run_stages import Facts, facts_of, trained_experiment
from t2t_keras.reproduction.table2_progress import draw_progress, progress_of
from t2t_keras.reproduction.table2_systems import ENSEMBLES, PAPER
from t2t_keras.runs.text_files import read_lines
from t2t_keras.stages.table_writer import circumstances, number, write_table


class Table2Result(NamedTuple):
    """The scores on one test set, of a training or of an ensemble."""

    row: str
    test: str
    facts: Facts
    experiment: object  # the `Experiment` that was trained
    weights: str
    bleu: Score
    paper_bleu: Score
    operations: float | None
    epochs: float | None
    flops: float | None
    reductions: list
    progress: list


def result_of(row, test, recipe, runs, output, target):
    """Returns the `Table2Result` of a test set that `runs`, (run, weights), have translated."""
    first, weights = runs[0]
    facts, text = facts_of(first), weights.text
    if len(runs) > 1:
        millions = sum(facts_of(run).millions for run, _ in runs)
        facts, text = facts._replace(millions=millions), f"{text}; {len(runs)} trainings together"
    lines, references = read_lines(output), read_lines(target)
    language = PAPER[row.removesuffix("_ensemble")].languages[1]
    return Table2Result(
        row=row,
        test=test,
        facts=facts,
        experiment=first.experiment(),
        weights=text,
        bleu=bleu(lines, references),
        paper_bleu=paper_bleu(lines, references, language),
        operations=total(map(operations_of, runs)),
        epochs=epochs_of(first),
        flops=total(training_cost(run) for run, _ in runs),
        reductions=recipe.reductions(trained_experiment(first)),
        progress=progress_of(first) if len(runs) == 1 else [],
    )


def total(values):
    """Returns the sum of numbers, or None if one of them is None."""
    values = list(values)
    return None if None in values else sum(values)


def training_cost(run):
    """Returns the floating-point operations of a run's training, or None if unknown."""
    evaluations = run.evaluations()
    return evaluations[-1].get("flops") if evaluations else None


def operations_of(weighted_run):
    """Returns the operations up to the last evaluation of a run, or None."""
    progress = progress_of(weighted_run[0])
    return progress[-1].operations if progress else None


def epochs_of(run):
    """Returns how many times a run has read its text up to its last evaluation, or None."""
    folder, evaluations = run.experiment().data.folder, run.evaluations()
    report = read_json(Path(folder) / "report.json", {}) if folder else {}
    if not (report.get("sides") and evaluations and "tokens" in evaluations[-1]):
        return None
    pieces = sum(pieces_read(side, report) for side in report["sides"].values())
    end_tokens = 2 * facts_of(run).pairs
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
    groups, progress = {}, {}
    for each in results:
        groups.setdefault((each.row, each.test), []).append(each)
    for (row, _), of_seeds in groups.items():
        progress[row] = [each.progress for each in of_seeds]
    draw_progress(folder / "table2.png", progress)

    def mean(value):
        return lambda of_seeds: statistics.mean(map(value, of_seeds))

    def each_seed(of_seeds):
        scores = [number(each.bleu.score) for each in of_seeds]
        return ", ".join(scores) if len(scores) > 1 else ""

    score, paper_score = (
        mean(lambda each: each.bleu.score),
        mean(lambda each: each.paper_bleu.score),
    )
    columns = {
        "row": lambda each: each[0].row,
        "settings": lambda each: "reduced" if each[0].reductions else "the paper's",
        "test set": lambda each: each[0].test,
        "lines": lambda each: f"{each[0].bleu.lines:,}",
        "pairs trained on": lambda each: number(each[0].facts.pairs, ","),
        "epochs": lambda each: number(each[0].epochs, ".1f"),
        "steps": lambda each: f"{each[0].facts.steps:,}",
        "10⁶ weights": lambda each: number(each[0].facts.millions),
        "sacreBLEU": lambda each: number(score(each)),
        **({"sacreBLEU of each seed": each_seed} if plan.seeds > 1 else {}),
        "BLEU": lambda each: number(paper_score(each)),
        "paper BLEU, newstest2014": lambda each: number(printed(each[0].row)[0], ".1f"),
        "10⁶ operations per token": lambda each: number(
            operations_per_token(each[0].experiment) / 1e6, ".3g"
        ),
        "longest path": lambda each: longest_path(each[0].experiment.model),
        "minutes": minutes_of,
        "operations": lambda each: number(each[0].operations, ".1e"),
        "FLOPs": lambda each: number(each[0].flops, ".1e"),
        "paper FLOPs": lambda each: number(printed(each[0].row)[1], ".1e"),
    }
    notes = [
        "The paper: newstest2014, 3,003 lines, after training on 4.5 M pairs (En–De) or 36 M "
        "(En–Fr), 100,000 steps (base) or 300,000 (big).",
    ]
    for (row, _), (each, *_) in groups.items():
        settings = ", ".join(each.reductions) or "the paper's settings"
        notes.append(f"{row}: {settings}; {each.weights}.")
    notes = list(dict.fromkeys(notes))  # one for each row, not for each test set
    notes.append(f"sacreBLEU: {results[0].bleu.signature}")
    for signature in dict.fromkeys(each.paper_bleu.signature for each in results):
        notes.append(f"BLEU is the paper's metric, not comparable with sacreBLEU: {signature}")
    notes.append(
        "Operations: those of the matrix products in training, with a backward pass of two forward "
        f"passes; per token of source or target, in sentences of {TYPICAL_LENGTH} tokens. Longest "
        "path: between two positions of the source, as the paper gives it. FLOPs: training time × "
        "measured rate, as in the paper. Minutes: those of the training steps."
    )
    if plan.seeds > 1:
        notes.append(
            "BLEU and minutes are means over the seeds; all other figures are the first seed's. An "
            "ensemble's weights, operations and FLOPs are sums over its trainings; its operations "
            "per token are those of one."
        )
    notes.append(
        "Not done: the replacement of unknown words (PosUnk), which sub-words do not need, and "
        "GNMT's reinforcement learning. The training of the paper's ensembles costs eight times as "
        "much as that of a single model."
    )
    return write_table(folder / "table2", columns, groups.values(), [*notes, *circumstances(plan)])


def minutes_of(of_seeds):
    """Formats the mean of the minutes of training; empty if they are unknown or of an ensemble."""
    seconds = [each.progress[-1].seconds for each in of_seeds if each.progress]
    return number(statistics.mean(seconds) / 60, ".1f") if seconds else ""
