"""t2t-translate: translates lines of text with a trained run, an ensemble, or an export.

t2t-translate runs/ende < test.en > test.out
t2t-translate runs/ende --input=test.en --output=test.out --beam=1
t2t-translate runs/ende                                     on a terminal: line by line
t2t-translate runs/first runs/second < test.en              an ensemble
t2t-translate runs/ende/export < test.en                    the newest SavedModel in the folder
t2t-translate runs/ende/export --glossary=terms.tsv         most flags work with a SavedModel, too
t2t-translate runs/ende/export_ctranslate2 < test.en        CTranslate2; starts in a second
t2t-translate runs/ende --n_best=3 --scores < test.en       score, tab, translation; best first
t2t-translate runs/ende --alignments < test.en              translation, tab, 0-0 1-2 …
t2t-translate runs/ende --json < test.en                    one JSON object per line
t2t-translate runs/ende --json --confidence < test.en       with the confidence of each word
t2t-translate runs/ende --sample --top_p=0.9 --seed=3       random, but reproducible
t2t-translate runs/ende --prefix="Heute" < test.en          every translation begins with "Heute"
t2t-translate runs/ende --glossary=terms.tsv < test.en      contains the terms of a glossary
t2t-translate runs/ende --split=off < test.en               every line is one sentence
t2t-translate runs/ende/export --apache_beam --input='corpus/*.gz' --output=translated/
t2t-translate runs/ende --markup=html < page.html           tags, entities and placeholders are kept

Each input line yields one output line, or n lines with --n_best. An empty line yields an empty
line. A line of several sentences is translated sentence by sentence, and its score is the sum of
their scores. A sentence of more than a thousand pieces, or with more phrases of a glossary than a
search has room for, is translated in parts. In lines with --scores or --alignments, a tab of a
translation becomes a space; --json keeps it. Alignments are pairs of word indices, counted from 0:
source word, dash, target word. t2t-attention --choose_alignment finds the layer and head that align
words best. The confidence of a word is the smallest probability of its pieces.

With --markup=html and --markup=xml, the lines of an input are one document: a tag, a comment, an
element or, inside an element, a sentence may span lines. With --json, --scores, --alignments or
--n_best, sentences end with their line. On a terminal, each line is a document.

With --output, run the same command with the same input to resume an interrupted one after its last
finished block of --lines lines. With --apache_beam, it keeps the finished files and blocks. (--beam
is the width of the beam search.)
"""

import contextlib
import functools
import importlib.metadata
import itertools
import sys

from absl import flags

from pipelines.progress import Progress
from pipelines.text.opened_text import opened, text_in
from t2t_keras.cli.flags.engine_flags import IMPORTS
from t2t_keras.cli.flags.shared_flags import not_with, only_with, refuse_unused
from t2t_keras.cli.main import run
from t2t_keras.cli.process.streams import standard_input
from t2t_keras.cli.text_files.marked_lines import MarkedLines
from t2t_keras.cli.text_files.output_files import check_outputs, files_of
from t2t_keras.cli.text_files.parallel_lines import LinesBeside, check_lines, line_count
from t2t_keras.cli.text_files.resumable_output import opened_output
from t2t_keras.cli.text_files.translation_lines import JSON, SCORES, Style, lines_of
from t2t_keras.cli.translate_on_apache_beam import APACHE_BEAM, BEAM_OPTIONS, translate_on_beam
from t2t_keras.cli.translation_model import (
    ALIGNMENTS,
    CONFIDENCE,
    GLOSSARY,
    MARKUP,
    N_BEST,
    PREFIX,
    PREFIXES,
    REQUIRE,
    load_model,
)

INPUT = flags.DEFINE_string(
    "input", None, "Text file to translate, or several with --apache_beam. Default: standard input."
)
OUTPUT = flags.DEFINE_string(
    "output", None, "File to write, or folder with --apache_beam. Default: standard output."
)
LINES = flags.DEFINE_integer(
    "lines", 5000, "Number of input lines that are sorted and batched by length together.", 1
)

only_with([APACHE_BEAM], BEAM_OPTIONS)
not_with(APACHE_BEAM, IMPORTS, why=", whose workers execute no plug-in file")
# Files with a line for each input line, and documents whose elements span lines.
not_with(APACHE_BEAM, PREFIXES, REQUIRE, MARKUP)


def main(arguments):
    if CONFIDENCE.value and not JSON.value:
        raise ValueError("--confidence is a field of the JSON objects: give --json, too")
    if APACHE_BEAM.value:
        translate_on_beam(arguments, INPUT.value, OUTPUT.value, output_format())
        return
    check_arguments(arguments)
    with contextlib.ExitStack() as files:
        source = files.enter_context(opened(INPUT.value)) if INPUT.value else standard_input()
        is_stream = not INPUT.value and not source.seekable()
        if not INPUT.value and not is_stream:
            source = text_in(source)
        interactive = source.isatty()
        output = files.enter_context(opened_output(OUTPUT.value, resumable=not interactive))
        from t2t_keras.runs.text_files import line_text

        prefixes = LinesBeside(PREFIXES, everywhere=PREFIX.value)
        required = LinesBeside(REQUIRE)
        total = None if interactive else line_count(source)
        check_lines(total, [prefixes, required])
        model = load_model(arguments)
        style = Style(SCORES.value, JSON.value, ALIGNMENTS.value, model.lines)
        document = None if interactive else document_for(model)
        if document and document.is_page:
            refuse_unused([PREFIXES], "on a page, whose sentences may span lines")
        beside = {each.flag.name: each.digest() for each in (prefixes, required)}
        output.begin(model.identity | output_format() | beside)
        if is_stream:
            source = text_in(source)  # after loading the model: may wait for a pipe's first bytes
        if interactive:
            print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr, flush=True)
        progress = Progress("translating", total, unit="lines")
        if not interactive:
            files.enter_context(progress).to(0)
        first = 0  # index of the block's first line
        while lines := list(itertools.islice(source, 1 if interactive else LINES.value)):
            starts, block = prefixes.take(len(lines)), b"".join(lines)
            phrases, numbers = phrases_of(required.take(len(lines))), range(len(lines))
            if document:
                pieces, numbers = document.divided(lines)
                starts = starts and [starts[number] for number in numbers]
            if output.keep(block):
                progress.begin_at(first + len(lines))
            else:
                texts = [line_text(line, index) for index, line in enumerate(lines, first)]
                advanced = functools.partial(
                    show_progress, None if interactive else progress, first
                )
                with named_line(first, numbers):
                    own = {"prefixes": starts, "require": phrases}
                    results = model.translator.translations(
                        pieces if document else texts, advanced, first, **model.options, **own
                    )
                    if document and document.is_page:
                        written = document.page(results)
                    else:
                        written = lines_of(texts, results, style)
                    progress.clear()
                    output.add(block, written)
            first += len(lines)
        if not interactive:
            for beside in (prefixes, required):  # the input may have been a stream
                beside.check(first)


def check_arguments(arguments):
    if PREFIX.value is not None and PREFIXES.value:
        raise ValueError("--prefix is for all lines, --prefixes for single lines: give only one")
    check_outputs(
        {"standard output": 1} if OUTPUT.value is None else {"--output": OUTPUT.value},
        {
            **{f"--{flag.name}": flag.value for flag in (INPUT, PREFIXES, GLOSSARY, REQUIRE)},
            "standard input": None if INPUT.value else 0,
            "a file of the run": files_of(arguments),
        },
    )


def document_for(model):
    """Returns the `MarkedLines` of an input whose lines are one document, or None."""
    if MARKUP.value not in ("html", "xml"):
        return None
    has_columns = JSON.value or SCORES.value or ALIGNMENTS.value or model.lines > 1
    return MarkedLines(MARKUP.value, is_page=not has_columns)


def output_format():
    """Returns the values of the flags that the output depends on, besides the model's."""
    values = {flag.name: flag.value for flag in (N_BEST, SCORES, JSON, LINES)}
    return values | {"version": importlib.metadata.version("t2t-keras")}


def phrases_of(lines):
    """Returns the required phrases of each line, or None."""
    return lines and [[each for each in line.split("\t") if each.strip()] for line in lines]


@contextlib.contextmanager
def named_line(first, numbers):
    """Adds the number of the line to an error about one of several texts.

    Args:
        first: index of the first line.
        numbers: for each text, the number of lines between the first line and it.
    """
    from t2t_keras.translating.request import TextError

    try:
        yield
    except TextError as error:
        raise ValueError(f"line {first + numbers[error.index] + 1:,}: {error}") from error


def show_progress(progress, before, done):
    """Shows the number of translated lines, except in an interactive session."""
    if progress is not None:
        progress.to(before + done)


def entry():
    run(main)


if __name__ == "__main__":
    entry()
