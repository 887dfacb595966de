"""t2t-translate: translates lines of text with a trained run, an ensemble, or an export.

t2t-translate runs/ende < test.en > test.out
t2t-translate runs/ende --input=test.en --output=test.out --beam=1
t2t-translate runs/ende                                     on a terminal: line by line
t2t-translate runs/first runs/second < test.en              an ensemble
t2t-translate runs/ende/export < test.en                    the newest SavedModel in the folder
t2t-translate runs/ende/export_ctranslate2 < test.en        CTranslate2; starts in a second
t2t-translate runs/ende --n_best=3 --scores < test.en       score, tab, translation; best first
t2t-translate runs/ende --alignments < test.en              translation, tab, 0-0 1-2 …
t2t-translate runs/ende --json < test.en                    one JSON object per line
t2t-translate runs/ende --sample --top_p=0.9 --seed=3       random, but reproducible
t2t-translate runs/ende --prefix="Heute" < test.en          every translation begins with "Heute"
t2t-translate runs/ende --split=off < test.en               every line is one sentence

Each input line yields one output line, or n lines with --n_best. An empty line yields an empty
line. A line of several sentences is translated sentence by sentence, and its score is the sum of
their scores. A sentence of more than a thousand pieces is translated in parts. Alignments are pairs
of word indices, counted from 0: source word, dash, target word. t2t-attention --choose_alignment
finds the layer and head that align words best.

With --output, run the same command with the same input to resume an interrupted one after its last
finished block of --lines lines.
"""

import contextlib
import dataclasses
import functools
import importlib.metadata
import itertools
import json
import sys
from collections.abc import Callable
from typing import NamedTuple

from absl import flags

from pipelines.progress import Progress
from pipelines.whole import file_digest
from t2t_keras.cli.backend import load_backend
from t2t_keras.cli.files import check_outputs, files_of, output_to
from t2t_keras.cli.main import run
from t2t_keras.cli.resumable_output import ResumableOutput, is_resumable
from t2t_keras.cli.search_flags import SEARCH_FLAGS, search_changes
from t2t_keras.cli.unused_flags import refuse_unused
from t2t_keras.cli.weights_flag import WEIGHTS

INPUT = flags.DEFINE_string("input", None, "Text file to translate. Default: standard input.")
OUTPUT = flags.DEFINE_string("output", None, "File to write. Default: standard output.")
N_BEST = flags.DEFINE_integer("n_best", None, "Translations per input line. Default: 1.")
SCORES = flags.DEFINE_bool("scores", False, "Write each translation's score and a tab before it.")
ALIGNMENTS = flags.DEFINE_bool("alignments", False, "Write word alignments after a tab.")
JSON = flags.DEFINE_bool("json", False, "Write a JSON object per input line, with scores.")
PREFIX = flags.DEFINE_string("prefix", None, "Text that every translation begins with.")
PREFIXES = flags.DEFINE_string(
    "prefixes", None, "Text file with a prefix for the translation of each input line."
)
SPLIT = flags.DEFINE_enum(
    "split",
    None,
    ["auto", "off"],
    "auto: translate each sentence of a line by itself; off: each line as one sentence. "
    "Default: auto, but off for a run that was trained on parse trees.",
)
LINES = flags.DEFINE_integer(
    "lines", 5000, "Number of input lines that are sorted and batched by length together.", 1
)


class Model(NamedTuple):
    """Runs or an export, ready to translate.

    Args:
        translate: function of texts, a function to call with the count of translated ones, the
            prefixes or None, the index of the first text, and a function that splits a text into
            sentences. Returns lists of `Translation`s.
        n_best: number of translations per text.
        align: function from a `Translation` to pairs of word indices, or None.
        identity: everything that the translations depend on besides the texts, in JSON types.
        split: default of --split.
    """

    translate: Callable
    n_best: int
    align: Callable | None
    identity: dict
    split: str = "auto"


def main(arguments):
    check_arguments(arguments)
    with contextlib.ExitStack() as files:
        source = files.enter_context(open(INPUT.value, "rb")) if INPUT.value else sys.stdin.buffer
        interactive = source.isatty()
        output = files.enter_context(opened_output(interactive))
        from t2t_keras.runs.splitting import splitter
        from t2t_keras.runs.text_files import line_text, read_lines

        prefixes = iter(read_lines(PREFIXES.value)) if PREFIXES.value else None
        model = from_ctranslate2(arguments) or from_export(arguments)
        if model is None:
            load_backend()
            model = from_runs(arguments)
        split = SPLIT.value or model.split
        output.begin(model.identity | output_format() | {"split": split})
        if interactive:
            print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr, flush=True)
        progress = Progress("translating", unit="lines")
        if not interactive:
            files.enter_context(progress).to(0)
        first = 0  # index of the block's first line
        while lines := list(itertools.islice(source, 1 if interactive else LINES.value)):
            starts, block = next_prefixes(prefixes, len(lines), first), b"".join(lines)
            if output.keep(block):
                progress.begin_at(first + len(lines))
            else:
                texts = [line_text(line, index) for index, line in enumerate(lines, first)]
                advanced = functools.partial(
                    show_progress, None if interactive else progress, first
                )
                results = model.translate(texts, advanced, starts, first, splitter(split))
                output.add(block, lines_of(texts, results, model))
            first += len(lines)


def check_arguments(arguments):
    if PREFIX.value is not None and PREFIXES.value:
        raise ValueError("--prefix is for all lines, --prefixes for single lines: give only one")
    check_outputs(
        {"standard output": 1} if OUTPUT.value is None else {"--output": OUTPUT.value},
        {
            **{f"--{flag.name}": flag.value for flag in (INPUT, PREFIXES)},
            "standard input": None if INPUT.value else 0,
            "a file of the run": files_of(arguments),
        },
    )


def opened_output(interactive):
    """Returns a context manager that opens the output before the work begins."""
    if OUTPUT.value and not interactive and is_resumable(OUTPUT.value):
        return ResumableOutput(OUTPUT.value)
    return direct_output()


@contextlib.contextmanager
def direct_output():
    with output_to(OUTPUT.value) as file:
        yield DirectOutput(file)


class DirectOutput:
    """An output that cannot be resumed, with the methods of `ResumableOutput`."""

    def __init__(self, file):
        self.file = file

    def begin(self, command):
        pass

    def keep(self, block):
        return False

    def add(self, block, output):
        self.file.write(output)
        self.file.flush()


def from_runs(folders):
    """Returns the `Model` of a run or of an ensemble."""
    from t2t_keras.runs import load_runs

    runs = load_runs(folders)
    changes = search_changes() | {"n_best": N_BEST.value}
    translator, config = runs.translator(WEIGHTS.value, **changes), runs.search(**changes)
    identity = {"weights": runs.weights_digests(WEIGHTS.value)}
    identity["search"] = dataclasses.asdict(config)
    align = None
    if ALIGNMENTS.value:
        align = runs.aligner(WEIGHTS.value)
        if choice := runs.alignment_choice():
            identity["alignment"] = dataclasses.asdict(choice)
    split = "off" if runs.prepared_with("leaves") else "auto"
    return Model(translator.translate, config.n_best, align, identity, split)


def from_ctranslate2(folders):
    """Returns the `Model` of a CTranslate2 folder, without Keras, or None if no folder is one."""
    from t2t_keras.runs.ctranslate2_export import CTranslate2Export, is_ctranslate2

    if not any(is_ctranslate2(folder) for folder in folders):
        return None
    check_alone(folders)
    only_run = [WEIGHTS, ALIGNMENTS, PREFIX, PREFIXES]
    refuse_unused(only_run, "with a CTranslate2 folder, only with the run")
    export = CTranslate2Export(folders[0])
    changes = search_changes() | {"n_best": N_BEST.value}
    translator, config = export.translator(**changes), export.search(**changes)
    identity = {"ctranslate2": export.digest(), "search": dataclasses.asdict(config)}
    return Model(translator.translate, config.n_best, None, identity)


def check_alone(folders):
    if len(folders) > 1:
        raise ValueError(f"an export cannot join an ensemble. Received: {' '.join(folders)}")


def from_export(folders):
    """Returns the `Model` of an export, without Keras, or None if no folder is one."""
    from t2t_keras.runs.export_folders import find_export

    if not any(find_export(folder) for folder in folders):
        return None
    check_alone(folders)
    fixed = [flag.name for flag in SEARCH_FLAGS if flag.present]
    fixed += [flag.name for flag in (WEIGHTS, ALIGNMENTS, PREFIX, PREFIXES) if flag.value]
    if fixed:
        raise ValueError(
            f"--{fixed[0]} does not work with an export: t2t-export fixed the search of "
            f"{folders[0]}. Give the run, or export it again"
        )
    load_backend(with_keras=False)
    from t2t_keras.runs.saved_model_export import Export

    export, n_best = Export(find_export(folders[0])), N_BEST.value or 1
    if not 1 <= n_best <= export.config.n_best:
        raise ValueError(
            f"--n_best must be at most {export.config.n_best}, as {folders[0]} was exported. "
            f"Received: {n_best}"
        )

    def translate(texts, advanced, prefixes, first, split):
        results = export.translate(texts, advanced, split)
        return [translations[:n_best] for translations in results]

    return Model(translate, n_best, None, {"export": export.digest()})


def output_format():
    """Returns the values of the flags that the output depends on, besides the model's."""
    values = {flag.name: flag.value for flag in (N_BEST, SCORES, ALIGNMENTS, JSON, PREFIX, LINES)}
    prefixes = file_digest(PREFIXES.value) if PREFIXES.value else None
    return values | {"prefixes": prefixes, "version": importlib.metadata.version("t2t-keras")}


def show_progress(progress, before, done):
    """Shows the number of translated lines, except in an interactive session."""
    if progress is not None:
        progress.to(before + done)


def next_prefixes(prefixes, count, before):
    """Returns the prefixes of the next translations, or None."""
    if PREFIX.value:
        return [PREFIX.value] * count
    if prefixes is None:
        return None
    taken = list(itertools.islice(prefixes, count))
    if len(taken) < count:
        raise ValueError(
            f"--prefixes must have a line for each input line. Received: {before + len(taken):,} "
            f"prefixes for {before + count:,} or more lines"
        )
    return taken


def lines_of(texts, results, model):
    """Returns the output for texts, in bytes."""
    lines = []
    for text, translations in zip(texts, results, strict=True):
        lines += formatted(text, translations, model.n_best, model.align)
    return "".join(f"{line}\n" for line in lines).encode()


def formatted(text, translations, n_best, align):
    """Returns the output lines for one input line, without line breaks."""
    from t2t_keras.decoding.sentences import on_one_line

    if JSON.value:
        objects = []
        for each in translations:
            translation = {"text": on_one_line(each.text), "score": each.score}
            objects.append(translation | ({"alignment": align(each)} if align else {}))
        return [json.dumps({"source": text, "translations": objects}, ensure_ascii=False)]
    lines = []
    for each in translations:
        score = [f"{each.score:.4f}"] if SCORES.value else []
        pairs = [" ".join(f"{i}-{j}" for i, j in align(each))] if align else []
        lines.append("\t".join([*score, on_one_line(each.text), *pairs]))
    return lines + [""] * (n_best - len(lines))


def entry():
    run(main)


if __name__ == "__main__":
    entry()
