"""t2t-translate: translates lines of text with a trained run.

t2t-translate runs/ende < test.en > test.out
t2t-translate runs/ende --input=test.en --output=test.out --beam=1
t2t-translate runs/ende                                     on a terminal: line by line
t2t-translate runs/ende --n_best=3 --scores < test.en       score, tab, translation; best first
t2t-translate runs/ende --json < test.en                    an object a line, with everything

Every line in gives one line out (n of them with --n_best), whatever it holds; an empty one an
empty one. The weights are the averaged ones if there are any, else those of the newest
checkpoint; --weights says otherwise.
"""

import contextlib
import itertools
import json
import sys
from pathlib import Path

from absl import flags

from pipelines.progress import Progress
from t2t_keras.cli.main import run
from t2t_keras.cli.runs import Run
from t2t_keras.cli.search_flags import search_config
from t2t_keras.cli.translating import on_one_line, text_of, translator
from t2t_keras.cli.weights_flag import WEIGHTS

INPUT = flags.DEFINE_string("input", None, "What to translate. None: standard input.")
OUTPUT = flags.DEFINE_string("output", None, "Where to write. None: standard output.")
N_BEST = flags.DEFINE_integer("n_best", None, "Translations of each line.")
SCORES = flags.DEFINE_bool("scores", False, "Write the score and a tab before each.")
JSON = flags.DEFINE_bool("json", False, "Write JSON, an object for each line.")
LINES = flags.DEFINE_integer("lines", 5000, "Lines read at a time, to sort them.", lower_bound=1)


def main(arguments):
    if len(arguments) != 1:
        raise ValueError(f"takes one run's folder. Received: {' '.join(arguments) or 'none'}")
    if INPUT.value and OUTPUT.value and Path(INPUT.value).resolve() == Path(OUTPUT.value).resolve():
        raise ValueError(f"--input and --output are the same file, {INPUT.value}: it would be lost")
    target = Run(arguments[0])
    config = search_config(target.experiment().search, n_best=N_BEST.value)
    translate = translator(target.model(WEIGHTS.value), target.tokenizer(), config).translate
    with contextlib.ExitStack() as files:
        source, output = sys.stdin.buffer, sys.stdout.buffer
        if INPUT.value:
            source = files.enter_context(open(INPUT.value, "rb"))
        if OUTPUT.value:
            output = files.enter_context(open(OUTPUT.value, "wb"))
        if source.isatty():
            conversation(source, output, translate, config.n_best)
        else:
            whole_text(source, output, translate, config.n_best)


def conversation(source, output, translate, n_best):
    """Each line is answered at once."""
    for line in source:
        text = text_of(line)
        write(output, [text], translate([text]), n_best)


def whole_text(source, output, translate, n_best):
    """Many lines at a time, so that those of one length go together."""
    with Progress("translating", unit="lines") as progress:
        progress.to(0)
        while lines := [text_of(line) for line in itertools.islice(source, LINES.value)]:
            before = progress.done
            results = translate(lines, lambda done, before=before: progress.to(before + done))
            write(output, lines, results, n_best)
            progress.to(before + len(lines))


def write(output, texts, results, n_best):
    for text, found in zip(texts, results, strict=True):
        lines = formatted(text, found, n_best)
        output.write("".join(f"{line}\n" for line in lines).encode())
    output.flush()


def formatted(text, found, n_best):
    """The lines that answer one line; none of them holds a line break."""
    found = [(on_one_line(translation), score) for translation, score in found]
    if JSON.value:
        translations = [{"text": translation, "score": score} for translation, score in found]
        return [json.dumps({"source": text, "translations": translations}, ensure_ascii=False)]
    lines = [f"{score:.4f}\t{line}" if SCORES.value else line for line, score in found]
    return lines + [""] * (n_best - len(lines))


def entry():
    run(main)


if __name__ == "__main__":
    entry()
