"""Measures how fast engines translate: a text with a run, or random sentences with random weights.

Random weights never end a translation, so all searches take the same number of steps.
"""

import dataclasses
import functools
import itertools
import random
import statistics
import tempfile
from pathlib import Path

from absl import flags

from t2t_keras.checks import check_choice
from t2t_keras.cli.benchmarks.train import LENGTH, ROUNDS, ROWS
from t2t_keras.cli.flags.config_flag import CONFIG, refuse_config
from t2t_keras.cli.flags.shared_flags import (
    define_list,
    not_with,
    only_with,
    opened_run,
    shared_flag,
)
from t2t_keras.export.formats import FORMATS

SOURCE_LENGTH = flags.DEFINE_integer(
    "source_length", 24, "decode: tokens per source sentence.", lower_bound=2
)
ENGINES = define_list(
    "engines",
    ["tensorflow"],
    "decode: engines that take turns, with the type of their weights if it is not float32, such as "
    "tensorflow,litert,litert:int8,ctranslate2:int8.",
)
TRUST = shared_flag("trust")
RUN = flags.DEFINE_string(
    "run", None, "decode: run that translates --input. Default: a model with random weights."
)
INPUT = flags.DEFINE_string("input", None, "decode: text file for --run, one sentence per line.")
LINES = flags.DEFINE_integer(
    "lines", 200, "decode: maximum number of lines of --input.", lower_bound=1
)
FLAGS = (SOURCE_LENGTH, LENGTH, ROWS, ROUNDS, ENGINES, RUN, TRUST, INPUT, LINES)

only_with([RUN], INPUT, LINES, TRUST)
not_with(RUN, SOURCE_LENGTH, LENGTH, ROWS, why=", which translates --input")

COLUMNS = ("line, 50 %, ms", "99 %, ms", "lines/s", "different")


def measure():
    from t2t_keras.reproduction.timing import median_seconds

    check_flags()
    with tempfile.TemporaryDirectory() as folder:
        if RUN.value:
            run, texts, alone = run_and_texts()
        else:
            sizes = SOURCE_LENGTH.value, LENGTH.value, ROWS.value
            run, texts, alone = random_run(Path(folder, "run"), CONFIG.value, *sizes)
        print(
            f"{RUN.value or 'Random weights'}: {len(texts):,} lines, medians of {ROUNDS.value} "
            "rounds. different: translations that differ from those of the first engine"
        )
        print(f"{'':<26}" + "".join(f"{column:>16}" for column in COLUMNS), flush=True)
        calls = {}
        for name in ENGINES.value:
            translate = functools.partial(translator(run, name, folder).translate, split="off")
            for beam in sorted({1, run.search().beam}):
                # All lines of an engine in a row, as on a server: its weights are in the
                # processor's caches, and no other engine has threads that still spin.
                calls[beam, name] = [
                    functools.partial(translate, each, beam=beam) for each in (*alone, texts)
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
    if RUN.value:
        refuse_config("with --run, whose settings are used")
        if not INPUT.value:
            raise ValueError("--run needs --input, a text file with sentences to translate")
        return
    if LENGTH.value < SOURCE_LENGTH.value:
        raise ValueError(
            "--length must be at least --source_length, because an output may have as many tokens "
            f"as its source. Received: --length={LENGTH.value}, "
            f"--source_length={SOURCE_LENGTH.value}"
        )


def translator(run, name, folder):
    """Returns the `Translator` of one of --engines. Exports are written to a folder."""
    from t2t_keras.translating.exports import open_export
    from t2t_keras.translating.translator import Translator

    engine, _, dtype = name.partition(":")
    if engine == "tensorflow":
        return run.translator(engine=engine)
    version = run.export(Path(folder, name), engine, dtype=dtype or None)
    return Translator(open_export(version), run.to)


def run_and_texts():
    """Returns the run, the texts, and the texts that are also translated alone."""
    from t2t_keras.runs.text_files import read_lines

    run = opened_run(RUN.value)
    texts = [text for text in read_lines(INPUT.value) if text.strip()][: LINES.value]
    if not texts:
        raise ValueError(f"--input must have lines that are not empty. Received: {INPUT.value}")
    return run, texts, texts


def random_run(folder, experiment, source_length, length, count):
    """Writes a run with random weights; returns it, and texts as in `run_and_texts`.

    Args:
        folder: path of the new folder.
        experiment: the `Experiment` with the model and the search.
        source_length: tokens per text, including the end token.
        length: number of steps of a search.
        count: number of texts.
    """
    import numpy as np

    from pipelines.tokenizers.separated_tokens import TokenTokenizer
    from t2t_keras.runs import Run
    from t2t_keras.runs.training.run_start import begin
    from t2t_keras.training.checkpoints import model_state
    from t2t_keras.transformer_config import TransformerConfig

    if not isinstance(experiment.model, TransformerConfig):
        raise ValueError(
            "decode measures models of other kinds with --run only. Received: a config of a "
            f"{type(experiment.model).__name__}"
        )
    # CTranslate2 appends the end token to sources unless `source_end` is False.
    experiment.model = dataclasses.replace(
        experiment.model, output_bias=True, source_end=False, source_vocab_size=None
    )
    experiment.search.extra_length = length - source_length
    experiment.validate()
    words = [f"w{id}" for id in range(experiment.model.vocab_size)]
    run = Run(folder)
    begin(run, experiment, TokenTokenizer(words))
    model = experiment.new_model()
    bias = np.zeros(len(words), "float32")
    bias[:4] = -1e4  # no special token, and so no end
    model.embedding.bias.assign(bias)
    run.averaged.write(model_state(model), None, None)
    choices = random.Random(0)
    texts = [" ".join(choices.choices(words[4:], k=source_length - 1)) for _ in range(count)]
    return run, texts, texts[:1]
