"""Measures how fast engines translate a text with a run."""

import functools
import itertools
import statistics
import tempfile
from pathlib import Path

from absl import flags

from t2t_keras.checks import check_choice
from t2t_keras.cli.benchmarks.train import ROUNDS
from t2t_keras.cli.flags.shared_flags import define_list, opened_run, shared_flag
from t2t_keras.export.formats import FORMATS

ENGINES = define_list(
    "engines",
    ["tensorflow"],
    "decode: engines that take turns, with the type of their weights if it is not float32, such as "
    "tensorflow,litert,litert:int8,ctranslate2:int8.",
)
RUN = flags.DEFINE_string("run", None, "decode: run that translates --input.")
INPUT = flags.DEFINE_string("input", None, "decode: text file for --run, one sentence per line.")
LINES = flags.DEFINE_integer(
    "lines", 200, "decode: maximum number of lines of --input.", lower_bound=1
)
FLAGS = (ROUNDS, ENGINES, RUN, shared_flag("trust"), INPUT, LINES)

COLUMNS = ("line, 50 %, ms", "99 %, ms", "lines/s", "different")


def measure():
    from t2t_keras.reproduction.timing import median_seconds
    from t2t_keras.runs.text_files import read_lines

    check_flags()
    run = opened_run(RUN.value)
    texts = [text for text in read_lines(INPUT.value) if text.strip()][: LINES.value]
    if not texts:
        raise ValueError(f"--input must have lines that are not empty. Received: {INPUT.value}")
    with tempfile.TemporaryDirectory() as folder:
        print(
            f"{RUN.value}: {len(texts):,} lines, medians of {ROUNDS.value} rounds. different: "
            "translations that differ from those of the first engine"
        )
        print(f"{'':<26}" + "".join(f"{column:>16}" for column in COLUMNS), flush=True)
        calls = {}
        for name in ENGINES.value:
            translate = functools.partial(translator(run, name, folder).translate, split="off")
            for beam in sorted({1, run.search().beam}):
                # All lines of an engine in a row, as on a server: its weights are in the
                # processor's caches, and no other engine has threads that still spin.
                calls[beam, name] = [
                    functools.partial(translate, each, beam=beam) for each in (*texts, texts)
                ]
        outputs = {key: [call() for call in each][-1] for key, each in calls.items()}
        # In each round, all calls take turns.
        seconds = iter(median_seconds([*itertools.chain(*calls.values())], ROUNDS.value, warm_up=0))
        taken = {key: [next(seconds) for _ in each] for key, each in calls.items()}
    for beam, name in sorted(taken, key=lambda key: key[0]):
        *lone, together = taken[beam, name]
        pairs = zip(outputs[beam, name], outputs[beam, ENGINES.value[0]], strict=True)
        cells = (
            f"{1e3 * statistics.median(lone):.2f}",
            f"{1e3 * sorted(lone)[99 * len(lone) // 100]:.2f}",
            f"{len(texts) / together:.1f}",
            f"{sum(ours != first for ours, first in pairs):,}",
        )
        search = "greedy" if beam == 1 else f"beam {beam}"
        print(f"{f'{search}, {name}':<26}" + "".join(f"{cell:>16}" for cell in cells))


def check_flags():
    for name in ENGINES.value:
        engine, colon, dtype = name.partition(":")
        check_choice("--engines", engine, ("tensorflow", "litert", "ctranslate2"))
        if colon:
            dtypes = FORMATS[engine].dtypes if engine in FORMATS else ()
            check_choice("--engines", dtype, ["float32", *dtypes])
    if not (RUN.value and INPUT.value):
        raise ValueError("decode needs --run and --input: a run, and a text file to translate")


def translator(run, name, folder):
    """Returns the `Translator` of one of --engines. Exports are written to a folder."""
    from t2t_keras.translating.exports import open_export
    from t2t_keras.translating.translator import Translator

    engine, _, dtype = name.partition(":")
    if engine == "tensorflow":
        return run.translator(engine=engine)
    version = run.export(Path(folder, name), engine, dtype=dtype or None)
    return Translator(open_export(version), run.to)
