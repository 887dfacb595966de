"""t2t-translate: translates lines of text with a trained run, several together, or an export.

t2t-translate runs/ende < test.en > test.out
t2t-translate runs/ende --input=test.en --output=test.out --beam=1
t2t-translate runs/ende                                     on a terminal: line by line
t2t-translate runs/first runs/second < test.en              an ensemble
t2t-translate runs/ende/export < test.en                    what t2t-export wrote, its newest
t2t-translate runs/ende --n_best=3 --scores < test.en       score, tab, translation; best first
t2t-translate runs/ende --alignments < test.en              translation, tab, 0-0 1-2 …
t2t-translate runs/ende --json < test.en                    an object a line, with everything
t2t-translate runs/ende --sample --top_p=0.9 --seed=3       drawn at random, the same each time
t2t-translate runs/ende --prefix="Heute" < test.en          every translation begins with it

Every line in gives one line out (n of them with --n_best), whatever it holds; an empty one an
empty one; one of more than a thousand pieces is translated in parts. The weights are the
averaged ones if there are any, else those of the newest checkpoint; --weights says otherwise.
An alignment is the number of a source word, a dash, the number of a word of the translation.
"""

import contextlib
import functools
import itertools
import json
import sys
from pathlib import Path

from absl import flags

from pipelines.progress import Progress
from t2t_keras.cli.main import run
from t2t_keras.cli.search_flags import given, search_config
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.runs.aligning import aligner
from t2t_keras.runs.exports import Export, export_in
from t2t_keras.runs.lines import on_one_line, read_lines, text_of
from t2t_keras.runs.run import finished
from t2t_keras.runs.translating import translator

INPUT = flags.DEFINE_string("input", None, "What to translate. None: standard input.")
OUTPUT = flags.DEFINE_string("output", None, "Where to write. None: standard output.")
N_BEST = flags.DEFINE_integer("n_best", None, "Translations of each line.")
SCORES = flags.DEFINE_bool("scores", False, "Write the score and a tab before each.")
ALIGNMENTS = flags.DEFINE_bool("alignments", False, "Write which words go with which.")
JSON = flags.DEFINE_bool("json", False, "Write JSON, an object for each line.")
PREFIX = flags.DEFINE_string("prefix", None, "What every translation begins with.")
PREFIXES = flags.DEFINE_string("prefixes", None, "A file: what each line's begins with.")
LINES = flags.DEFINE_integer("lines", 5000, "Lines read at a time, to sort them.", lower_bound=1)


def main(arguments):
    if INPUT.value and OUTPUT.value and Path(INPUT.value).resolve() == Path(OUTPUT.value).resolve():
        raise ValueError(f"--input and --output are the same file, {INPUT.value}: it would be lost")
    if PREFIX.value is not None and PREFIXES.value:
        raise ValueError("--prefix is for all lines and --prefixes for each: give one of them")
    translate, n_best, align = exported(arguments) or trained(arguments)
    prefixes = iter(read_lines(PREFIXES.value)) if PREFIXES.value else None
    with contextlib.ExitStack() as files:
        source, output = sys.stdin.buffer, sys.stdout.buffer
        if INPUT.value:
            source = files.enter_context(open(INPUT.value, "rb"))
        if OUTPUT.value:
            output = files.enter_context(open(OUTPUT.value, "wb"))
        if conversation := source.isatty():
            print("Type a sentence and Enter; Ctrl-D ends.", file=sys.stderr, flush=True)
        progress = Progress("translating", unit="lines")
        if not conversation:
            files.enter_context(progress).to(0)
        first = 0
        while texts := next_texts(source, 1 if conversation else LINES.value):
            starts = next_starts(prefixes, len(texts), first)
            advanced = functools.partial(told, None if conversation else progress, first)
            found = translate(texts, advanced, starts, first)
            write(output, texts, found, n_best, align)
            first += len(texts)


def trained(folders):
    """How runs translate, how many translations they give, and how they align them if asked."""
    target = finished(folders)
    tokenizer = target.tokenizer()
    config = search_config(target.experiment().search, tokenizer, n_best=N_BEST.value)
    model = target.model(WEIGHTS.value)
    align = aligner(model, tokenizer) if ALIGNMENTS.value else None
    return translator(model, tokenizer, config).translate, config.n_best, align


def exported(folders):
    """The same of an export; None if no folder is one."""
    if not any(export_in(folder) for folder in folders):
        return None
    if len(folders) > 1:
        raise ValueError(f"an export translates alone. Received: {' '.join(folders)}")
    fixed = [
        *given(),
        *(flag.name for flag in (WEIGHTS, ALIGNMENTS, PREFIX, PREFIXES) if flag.value),
    ]
    if fixed:
        raise ValueError(
            f"--{fixed[0]} is not for an export: t2t-export has decided how {folders[0]} searches. "
            "Give the run, or export it again"
        )
    export, n_best = Export(export_in(folders[0])), N_BEST.value or 1
    if not 1 <= n_best <= export.config.n_best:
        raise ValueError(
            f"--n_best={n_best}: {folders[0]} was exported with up to {export.config.n_best}"
        )

    def translate(texts, advanced, prefixes, first):
        return [found[:n_best] for found in export.translate(texts, advanced)]

    return translate, n_best, None


def told(progress, before, done):
    """Shows how many lines are translated; not in a conversation, which shows it itself."""
    if progress is not None:
        progress.to(before + done)


def next_texts(source, count):
    """The next lines as texts: many, so that those of one length go together."""
    return [text_of(line) for line in itertools.islice(source, count)]


def next_starts(prefixes, count, before):
    """What the next translations begin with, or None."""
    if PREFIX.value:
        return [PREFIX.value] * count
    if prefixes is None:
        return None
    found = list(itertools.islice(prefixes, count))
    if len(found) < count:
        raise ValueError(
            f"--prefixes must have a line for each line. Received: {before + len(found):,} lines, "
            f"and {before + count:,} or more to translate"
        )
    return found


def write(output, texts, results, n_best, align):
    for text, found in zip(texts, results, strict=True):
        lines = formatted(text, found, n_best, align)
        output.write("".join(f"{line}\n" for line in lines).encode())
    output.flush()


def formatted(text, found, n_best, align):
    """The lines that answer one line; none of them holds a line break."""
    if JSON.value:
        translations = []
        for each in found:
            translation = {"text": on_one_line(each.text), "score": each.score}
            translations.append(translation | ({"alignment": align(each)} if align else {}))
        return [json.dumps({"source": text, "translations": translations}, ensure_ascii=False)]
    lines = []
    for each in found:
        score = [f"{each.score:.4f}"] if SCORES.value else []
        pairs = [" ".join(f"{i}-{j}" for i, j in align(each))] if align else []
        lines.append("\t".join([*score, on_one_line(each.text), *pairs]))
    return lines + [""] * (n_best - len(lines))


def entry():
    run(main)


if __name__ == "__main__":
    entry()
