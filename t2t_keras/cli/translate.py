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
t2t-translate runs/ende --mbr=32 --sample < test.en          minimum Bayes risk among 32 samples
t2t-translate runs/ende --prefix="Heute" < test.en          every translation begins with "Heute"
t2t-translate runs/ende --glossary=terms.tsv < test.en      contains the terms of a glossary
t2t-translate runs/ende --split=off < test.en               every line is one sentence
t2t-translate runs/ende/export --apache_beam --input='corpus/*.gz' --output=translated/
t2t-translate runs/ende --markup=html < page.html           tags and entities are kept
t2t-translate runs/ende --document=ui.xlf --output=ui.de.xlf
t2t-translate runs/ende --document=manual/ --output=manual.de/     all documents in a folder

Each input line yields one output line, or n lines with --n_best. An empty line yields an empty
line. A line of several sentences is translated sentence by sentence, and its score is the sum of
their scores. A sentence of more than a thousand pieces is translated in parts. In lines with
--scores or --alignments, a tab of a translation becomes a space; --json keeps it. Alignments are
pairs of word indices, counted from 0: source word, dash, target word. t2t-attention
--choose_alignment finds the layer and head that align words best. The confidence of a word is the
smallest probability of its pieces.

With --markup=html and --markup=xml, the lines of an input are one document: a tag, a comment, an
element or, inside an element, a sentence may span lines. With --json, --scores, --alignments or
--n_best, sentences end with their line. On a terminal, each line is a document.

With --output, run the same command with the same input to resume an interrupted one after its last
finished block of --lines lines. With --apache_beam, it keeps the finished files and blocks. (--beam
is the width of the beam search.)
"""

import dataclasses
import functools
import importlib.metadata
import sys
from typing import Any, NamedTuple

from absl import flags

from pipelines.atomic_files import json_digest
from t2t_keras.cli.flags.engine_flags import IMPORTS, TRUST, opened_model
from t2t_keras.cli.flags.field_flags import define_flags
from t2t_keras.cli.flags.search_flags import search_changes
from t2t_keras.cli.flags.shared_flags import not_with, only_with, refuse_unused, shared_flags
from t2t_keras.cli.text_files.line_blocks import opened_input, write_blocks
from t2t_keras.cli.text_files.marked_lines import MarkedLines
from t2t_keras.cli.text_files.output_files import check_outputs
from t2t_keras.cli.text_files.translate_documents import (
    DOCUMENT,
    refuse_documents,
    translate_documents,
)
from t2t_keras.cli.text_files.translate_on_apache_beam import APACHE_BEAM, translate_on_beam
from t2t_keras.cli.text_files.translation_lines import JSON, SCORES, lines_of
from t2t_keras.runs.text_files import line_text, read_lines
from t2t_keras.translating.request import SEARCH, Request, TextError

(DRAFT,) = shared_flags("draft")
INPUT = flags.DEFINE_string(
    "input", None, "Text file to translate, or several with --apache_beam. Default: standard input."
)
OUTPUT = flags.DEFINE_string(
    "output", None, "File to write, or folder with --apache_beam. Default: standard output."
)
LINES = flags.DEFINE_integer(
    "lines", 5000, "Number of input lines that are sorted and batched by length together.", 1
)
N_BEST = flags.DEFINE_integer("n_best", None, "Translations per input line. Default: 1.")
# The fields of a request that apply to all lines. Other commands define --to as well.
OF_ALL_LINES = define_flags(
    Request,
    leave_out=(*SEARCH, "to"),
    notes={
        "alignments": "They follow a tab, or are in the objects of --json.",
        "confidence": "Needs --json.",
    },
)
ALIGNMENTS, CONFIDENCE = OF_ALL_LINES["alignments"], OF_ALL_LINES["confidence"]
MARKUP, PREFIX = OF_ALL_LINES["markup"], OF_ALL_LINES["prefix"]
PREFIXES = flags.DEFINE_string(
    "prefixes", None, "Text file with a prefix for the translation of each input line."
)
GLOSSARY = flags.DEFINE_string(
    "glossary",
    None,
    "Text file with a source phrase, a tab and a target phrase per line, or a CSV or TBX file. "
    "Where the source phrase occurs, the target phrase is its translation.",
)
REQUIRE = flags.DEFINE_string(
    "require",
    None,
    "Text file with a line for each input line: phrases that its translation must contain, "
    "separated by tabs.",
)

not_with(DOCUMENT, APACHE_BEAM, INPUT, MARKUP, PREFIXES, REQUIRE, N_BEST, SCORES)
not_with(DOCUMENT, ALIGNMENTS, CONFIDENCE)
only_with([JSON], CONFIDENCE)
only_with([OF_ALL_LINES["mbr"]], OF_ALL_LINES["mbr_metric"])
only_with([OF_ALL_LINES["mbr_metric"]], OF_ALL_LINES["comet_model"])
not_with(PREFIXES, PREFIX)
not_with(APACHE_BEAM, IMPORTS, why=", whose workers execute no plug-in file")
# Files with a line for each input line, and documents whose elements span lines.
not_with(APACHE_BEAM, PREFIXES, REQUIRE, MARKUP, DRAFT)


def main(arguments):
    values = {flag.name: flag.value for flag in (N_BEST, SCORES, JSON, LINES)}
    values["version"] = importlib.metadata.version("t2t-keras")
    if APACHE_BEAM.value:
        files = INPUT.value, OUTPUT.value, GLOSSARY.value
        translate_on_beam(arguments, *files, values, load_model)
        return
    if DOCUMENT.value:
        others = {"glossary": GLOSSARY.value}
        translate_documents(arguments, OUTPUT.value, others, values, JSON.value, load_model)
        return
    refuse_documents(INPUT.value)
    inputs = {flag.name: flag.value for flag in (INPUT, PREFIXES, GLOSSARY, REQUIRE)}
    check_outputs(OUTPUT.value, inputs)
    with opened_input(INPUT.value) as source:
        beside = lines_beside()
        check_counts(beside, source.count)
        model = load_model(arguments)
        blocks = blocks_of(source, beside, model, document_for(source, model))
        command = model.identity | values | beside
        write_blocks(blocks, OUTPUT.value, command, source, "translating", "lines")
    if DRAFT.value:
        print(model.translator.engine.draft, file=sys.stderr)


class TranslationModel(NamedTuple):
    """Runs or an export, ready to translate."""

    translator: Any
    options: dict  # fields of the `Request` of every line
    lines: int  # number of translations per line
    formatted: Any  # function of texts and the `Translation`s of each; returns the output in bytes
    identity: dict  # all that the translations depend on besides the texts, in JSON types


def load_model(folders):
    """Returns the `TranslationModel` of an export, a run or an ensemble, with checked options."""
    from t2t_keras.runs.open_engine import with_draft
    from t2t_keras.translating.required_phrases import loaded_glossary

    changes = search_changes()
    translator, identity = opened_model(folders, method=changes.get("method"))
    engine = translator.engine
    if DRAFT.value:
        with_draft(engine, DRAFT.value, TRUST.value)
    given = {name: flag.value for name, flag in OF_ALL_LINES.items()}
    options = {"n_best": N_BEST.value, **changes}
    options |= {name: value for name, value in given.items() if value is not None}
    if GLOSSARY.value:
        options["glossary"] = loaded_glossary(GLOSSARY.value, engine)
    own = {"prefixes": ["a"]} if PREFIXES.value else {}
    own |= {"require": [["a"]]} if REQUIRE.value else {}
    config = translator.check(options, **own)
    if DRAFT.value and config.beam > 1:
        raise ValueError("--draft is for greedy search. Add --beam=1")
    style = {"scores": SCORES.value, "as_json": JSON.value, "alignments": ALIGNMENTS.value}
    formatted = functools.partial(lines_of, count=config.n_best, **style)
    identity |= given | {"search": dataclasses.asdict(config)}
    identity["glossary"] = GLOSSARY.value and json_digest(options["glossary"].targets)
    identity["split"] = given["split"] or engine.split
    if (ALIGNMENTS.value or MARKUP.value) and engine.alignment:
        identity["alignment"] = dataclasses.asdict(engine.alignment)
    return TranslationModel(translator, options, config.n_best, formatted, identity)


def lines_beside():
    """Returns {flag: lines} of the files with a line for each input line."""
    return {flag.name: read_lines(flag.value) for flag in (PREFIXES, REQUIRE) if flag.value}


def check_counts(beside, count, at_least=False):
    """Rejects a file of `lines_beside` without a line for each of `count` (None: unknown) lines."""
    for name, lines in beside.items() if count is not None else ():
        if len(lines) < count or (len(lines) > count and not at_least):
            raise ValueError(
                f"--{name} must have a line for each input line. Received: {len(lines):,} lines "
                f"for {count:,}{' or more' * at_least} input lines"
            )


def document_for(source, model):
    """Returns the `MarkedLines` of an input whose lines are one document, or None."""
    if source.interactive or MARKUP.value not in ("html", "xml"):
        return None
    has_columns = JSON.value or SCORES.value or ALIGNMENTS.value or model.lines > 1
    if not has_columns:
        refuse_unused([PREFIXES], "on a page, whose sentences may span lines")
    return MarkedLines(MARKUP.value, is_page=not has_columns)


def blocks_of(source, beside, model, document):
    """Yields the blocks of an `Input` for `write_blocks`."""
    first = 0  # index of the block's first line
    for lines in source.blocks(LINES.value):
        end = first + len(lines)
        check_counts(beside, end, at_least=True)
        own = {name: each[first:end] for name, each in beside.items()}
        if "require" in own:
            phrases = [line.split("\t") for line in own["require"]]
            own["require"] = [[each for each in line if each.strip()] for line in phrases]
        texts, numbers = document.divided(lines) if document else (None, range(len(lines)))
        if "prefixes" in own:
            own["prefixes"] = [own["prefixes"][number] for number in numbers]
        work = functools.partial(translated, lines, first, texts, numbers, own, model, document)
        yield len(lines), b"".join(lines), work
        first = end
    check_counts(beside, first)  # the input may have been a stream


def translated(lines, first, texts, numbers, own, model, document, on_progress):
    """Returns the output for a block of lines in bytes; `first` is the index of the first line.

    `texts` are a document's texts that begin in these lines, or None, and `numbers` the indices of
    their first lines in the block. `own` are the options of each text.
    """
    of_lines = [line_text(line, index) for index, line in enumerate(lines, first)]
    texts, options = texts if document else of_lines, model.options | own
    try:
        results = model.translator.translations(texts, on_progress, first, **options)
    except TextError as error:
        raise ValueError(f"line {first + numbers[error.index] + 1:,}: {error}") from error
    is_page = document and document.is_page
    return document.page(results) if is_page else model.formatted(of_lines, results)
