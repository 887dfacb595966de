"""t2t-translate: translates lines of text with a trained run, an ensemble, or an export.

t2t-translate runs/ende < test.en > test.out
t2t-translate runs/ende --input=test.en --output=test.out --beam=1
t2t-translate runs/ende                                     on a terminal: line by line
t2t-translate runs/first runs/second < test.en              an ensemble
t2t-translate runs/ende/export < test.en                    the newest SavedModel in the folder
t2t-translate runs/ende --n_best=3 --scores < test.en       score, tab, translation; best first
t2t-translate runs/ende --alignments < test.en              translation, tab, 0-0 1-2 …
t2t-translate runs/ende --json < test.en                    one JSON object per line
t2t-translate runs/ende --sample --top_p=0.9 --seed=3       random, but reproducible
t2t-translate runs/ende --prefix="Heute" < test.en          every translation begins with "Heute"

Each input line yields one output line, or n lines with --n_best. An empty line yields an empty
line. A line of more than a thousand pieces is translated in parts. Alignments are pairs of word
indices, counted from 0: source word, dash, target word.
"""

import contextlib
import functools
import itertools
import json
import sys
from pathlib import Path

from absl import flags

from pipelines.progress import Progress
from t2t_keras.cli.backend import load_backend
from t2t_keras.cli.main import run
from t2t_keras.cli.search_flags import SEARCH_FLAGS, search_changes
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
LINES = flags.DEFINE_integer(
    "lines", 5000, "Number of input lines that are sorted and batched by length together.", 1
)


def main(arguments):
    if INPUT.value and OUTPUT.value and Path(INPUT.value).resolve() == Path(OUTPUT.value).resolve():
        raise ValueError(
            f"--input and --output are the same file, {INPUT.value}: it would be overwritten"
        )
    if PREFIX.value is not None and PREFIXES.value:
        raise ValueError("--prefix is for all lines, --prefixes for single lines: give only one")
    load_backend()
    from t2t_keras.runs.text_files import read_lines

    translate, n_best, align = from_export(arguments) or from_runs(arguments)
    prefixes = iter(read_lines(PREFIXES.value)) if PREFIXES.value else None
    with contextlib.ExitStack() as files:
        source, output = sys.stdin.buffer, sys.stdout.buffer
        if INPUT.value:
            source = files.enter_context(open(INPUT.value, "rb"))
        if OUTPUT.value:
            output = files.enter_context(open(OUTPUT.value, "wb"))
        if interactive := source.isatty():
            print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr, flush=True)
        progress = Progress("translating", unit="lines")
        if not interactive:
            files.enter_context(progress).to(0)
        first = 0  # index of the block's first line
        while texts := next_texts(source, 1 if interactive else LINES.value):
            starts = next_prefixes(prefixes, len(texts), first)
            advanced = functools.partial(show_progress, None if interactive else progress, first)
            results = translate(texts, advanced, starts, first)
            write(output, texts, results, n_best, align)
            first += len(texts)


def from_runs(folders):
    """Returns the translate function of runs, the size of n-best lists, and the aligner or None."""
    from t2t_keras.runs import load_runs

    runs = load_runs(folders)
    changes = search_changes() | {"n_best": N_BEST.value}
    translator = runs.translator(WEIGHTS.value, **changes)
    align = runs.aligner(WEIGHTS.value) if ALIGNMENTS.value else None
    return translator.translate, runs.search(**changes).n_best, align


def from_export(folders):
    """Returns the translate function of an export and the size of n-best lists, without an aligner.

    Returns None if no folder is an export.
    """
    from t2t_keras.runs.exports import Export, find_export

    if not any(find_export(folder) for folder in folders):
        return None
    if len(folders) > 1:
        raise ValueError(f"an export cannot join an ensemble. Received: {' '.join(folders)}")
    fixed = [flag.name for flag in SEARCH_FLAGS if flag.present]
    fixed += [flag.name for flag in (WEIGHTS, ALIGNMENTS, PREFIX, PREFIXES) if flag.value]
    if fixed:
        raise ValueError(
            f"--{fixed[0]} does not work with an export: t2t-export fixed the search of "
            f"{folders[0]}. Give the run, or export it again"
        )
    export, n_best = Export(find_export(folders[0])), N_BEST.value or 1
    if not 1 <= n_best <= export.config.n_best:
        raise ValueError(
            f"--n_best must be at most {export.config.n_best}, as {folders[0]} was exported. "
            f"Received: {n_best}"
        )

    def translate(texts, advanced, prefixes, first):
        return [translations[:n_best] for translations in export.translate(texts, advanced)]

    return translate, n_best, None


def show_progress(progress, before, done):
    """Shows the number of translated lines, except in an interactive session."""
    if progress is not None:
        progress.to(before + done)


def next_texts(source, count):
    """Returns the texts of the next `count` lines, or of all remaining ones if there are fewer."""
    from t2t_keras.runs.text_files import line_text

    return [line_text(line) for line in itertools.islice(source, count)]


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


def write(output, texts, results, n_best, align):
    for text, translations in zip(texts, results, strict=True):
        lines = formatted(text, translations, n_best, align)
        output.write("".join(f"{line}\n" for line in lines).encode())
    output.flush()


def formatted(text, translations, n_best, align):
    """Returns the output lines for one input line, without line breaks."""
    from t2t_keras.runs.text_files import on_one_line

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
