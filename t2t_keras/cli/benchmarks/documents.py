"""Compares runs on documents of the toy grammar: BLEU, pronouns, seconds and memory by length."""

from pathlib import Path
from typing import NamedTuple

from absl import flags

from t2t_keras.cli.flags.list_flag import define_list

RUNS = define_list("runs", None, "documents: runs to compare, of the config documents.")
WORDS = define_list(
    "words", ["100", "200", "400", "800", "1500"], "documents: lengths of the documents, in words."
)
DOCUMENTS = flags.DEFINE_integer(
    "documents", 4, "documents: number of documents of each length.", lower_bound=1
)
PICTURE = flags.DEFINE_string("picture", None, "documents: PNG file to draw. Default: none.")
FLAGS, READS_CONFIG = (RUNS, WORDS, DOCUMENTS, PICTURE), False


class Measure(NamedTuple):
    """A column of the table, and a panel of the picture."""

    title: str
    factor: float  # multiplies the results of `measure_run`
    form: str
    logarithmic: bool  # whether the axis of the panel is logarithmic


MEASURES = {
    "bleu": Measure("BLEU", 1, ".1f", False),
    "pronouns": Measure("right pronouns, %", 100, ".1f", False),
    "translation": Measure("translation, s", 1, ".3f", True),
    "training": Measure("training step, s", 1, ".3f", True),
    "memory": Measure("memory, MB", 1e-6, ".1f", True),
}


def measure():
    import keras

    from t2t_keras.cli.benchmarks.document_runs import measure_run
    from t2t_keras.reproduction.child_process import call_in_child
    from t2t_keras.reproduction.timing import sorted_lengths

    if not RUNS.value:
        raise ValueError("documents needs --runs, such as --runs=runs/full,runs/restricted")
    if keras.config.backend() != "tensorflow":
        raise ValueError(
            "documents measures runs, which need TensorFlow. Received: "
            f"KERAS_BACKEND={keras.config.backend()}"
        )
    names = [Path(run).name for run in RUNS.value]
    if len(set(names)) < len(names):
        raise ValueError(
            "The folders of --runs must have different names, which label their lines. "
            f"Received: {', '.join(RUNS.value)}"
        )
    lengths, results = sorted_lengths(WORDS.value), {}
    print(
        f"Greedy translations of {DOCUMENTS.value} documents of each length, in seconds per "
        "document; training steps of one document, and their memory"
    )
    titles = [f"   {each.title}" for each in MEASURES.values()]
    print(f"{'':<20}{'tokens':>8}{''.join(titles)}")
    for words in lengths:
        for run in RUNS.value:
            # A separate process, so that no measurement includes memory of an earlier one.
            try:
                result = call_in_child(measure_run, run, words, DOCUMENTS.value)
            except RuntimeError as error:
                raise ValueError(f"{run} could not be measured: {error}") from error
            results[run, words] = result
            cells = [
                f"{each.factor * result[name]:>{len(title)}{each.form}}"
                for title, (name, each) in zip(titles, MEASURES.items(), strict=True)
            ]
            print(f"{Path(run).name:<20}{result['tokens']:>8,.0f}" + "".join(cells), flush=True)
    if PICTURE.value:
        draw(PICTURE.value, results)


def draw(path, results):
    """Draws a panel for each measure and a line for each run.

    Args:
        path: path of the PNG file.
        results: {run: {number of words: result of `measure_run`}}.
    """
    from t2t_keras.visualization.by_length import by_length

    panels = {}
    for name, each in MEASURES.items():
        lines = {}
        for (run, _), result in results.items():
            points = lines.setdefault(Path(run).name, {})
            points[result["tokens"]] = each.factor * result[name]
        panels[each.title] = lines, each.logarithmic
    by_length(path, panels)
