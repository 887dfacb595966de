"""Measures a run on real text: latency of single lines, and lines per second in batches."""

import functools
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from t2t_keras.cli.benchmarks import ctranslate2_engines, litert_engines, table
from t2t_keras.cli.benchmarks.fixed_steps import OURS, name_of, our_searches
from t2t_keras.cli.benchmarks.starts import start_of

# CTranslate2 stops at beam · patience finished hypotheses. Our search stops when no better
# hypothesis is possible.
PATIENCE = 2


class Outputs(NamedTuple):
    """Translations of all lines: each line alone, and in batches."""

    alone: list
    in_batches: list


def measure(folder, path, lines, rows, rounds, beside):
    """Prints a table with one column per system.

    Args:
        folder: folder of the run.
        path: text file.
        lines: maximum number of lines to translate.
        rows: lines per batch.
        rounds: timed calls of each measurement.
        beside: whether LiteRT and CTranslate2 are also measured.
    """
    from t2t_keras.reproduction.timing import median_seconds
    from t2t_keras.runs import Run

    if beside:
        ctranslate2_engines.check_comparable()
    run = Run(folder)
    search = run.experiment().search  # raises a clear error if the folder is not a run
    texts, batches = texts_and_batches(run.tokenizer(), path, lines, rows)
    beams = sorted({1, search.beam})
    print(
        f"{folder}: {len(texts)} lines of {path}, in batches of {rows}, beam {search.beam}, "
        f"alpha {search.alpha:g}, float32, medians of {rounds} rounds",
        flush=True,
    )
    systems = {
        name: {beam: our_translator(way, run, beam) for beam in beams}
        for name, way in our_searches(beside, few_shapes=False).items()
    }
    warm_up, outputs = {}, {}
    for name, translators in systems.items():
        warm_up[name], outputs[name] = first_outputs(translators, texts, batches)
    commands = {}
    with tempfile.TemporaryDirectory() as folder_of_exports:
        if beside:
            beta = length_penalty(run, outputs[OURS][search.beam].alone)
            ctranslate2_engines.print_note(f", length_penalty={beta:.2f}, patience={PATIENCE}")
            exports = exported(run, Path(folder_of_exports))
            added = litert_translators(run, beams, exports)
            added |= ctranslate2_translators(run, beams, beta)
            for name, translators in added.items():
                warm_up[name], outputs[name] = first_outputs(translators, texts, batches)
            systems |= added
            commands = {OURS: [folder, "--engine=tensorflow"]}
            commands |= {name: [path] for name, path in exports.items()}
        table.print_head(systems)
        table.print_facts("warm-up, s", warm_up, "{:.1f}")
        if beside:
            print_starts({name: commands.get(name) for name in systems}, texts[0], rounds)
    # All lines of a system in a row, as on a server with one model: its weights are in the
    # processor's caches, and no other system has threads that still spin.
    calls = [
        call
        for beam in beams
        for translators in systems.values()
        for call in calls_of(translators[beam], texts, batches)
    ]
    medians = iter(median_seconds(calls, rounds, warm_up=0))
    for beam in beams:
        seconds = {name: [next(medians) for _ in range(len(texts) + 1)] for name in systems}
        print_results(beam, seconds, {name: outputs[name][beam] for name in systems})


def exported(run, folder):
    """Returns {system: folder of the run's export for it} in a folder."""
    formats = {"litert": litert_engines.SYSTEMS, "ctranslate2": ctranslate2_engines.SYSTEMS}
    return {
        name: run.export(folder / name, form, dtype=dtype)
        for form, systems in formats.items()
        for name, dtype in systems.items()
    }


def print_starts(commands, text, rounds):
    """Prints the time that commands take to translate their first line, and their memory.

    Args:
        commands: {system: arguments of t2t-translate, or None}.
        text: the line.
        rounds: number of starts of each command.
    """
    starts = {
        name: arguments and start_of(arguments, text, rounds)
        for name, arguments in commands.items()
    }
    seconds = {name: each and each.seconds for name, each in starts.items()}
    table.print_facts("first line of a command, s", seconds, "{:.2f}")
    memory = {name: each and each.memory for name, each in starts.items()}
    table.print_facts("its memory, MB", memory, "{:.0f}")


def print_results(beam, seconds, outputs):
    """Prints latencies, speeds and differences of one beam.

    Args:
        beam: beam width.
        seconds: {system: the seconds of each line alone, then of all batches}.
        outputs: {system: `Outputs`}.
    """
    search, expected = f"{name_of(beam):<8}", outputs[OURS].alone
    for percent in (50, 99):
        times = {name: 1e3 * percentile(each[:-1], percent) for name, each in seconds.items()}
        table.print_times(f"{search} one line, {percent} %, ms", times)
    speeds = {name: len(expected) / each[-1] for name, each in seconds.items()}
    table.print_speeds(f"{search} batches, lines/s", speeds)
    for how in Outputs._fields:
        different = {
            name: differences(getattr(each, how), expected) for name, each in outputs.items()
        }
        table.print_facts(f"{search} different, {how.replace('_', ' ')}", different)


def texts_and_batches(tokenizer, path, lines, rows):
    """Returns the lines that have pieces, and batches as lists of indices, longest lines first."""
    from t2t_keras.runs.text_files import read_lines

    texts = read_lines(path)[:lines]
    lengths = list(map(len, tokenizer.source.encode(texts))) if texts else []
    texts = [text for text, length in zip(texts, lengths, strict=True) if length]
    lengths = [length for length in lengths if length]
    if not texts:
        raise ValueError(f"--input must have lines that are not empty. Received: --input={path}")
    order = sorted(range(len(texts)), key=lambda index: -lengths[index])
    return texts, [order[start : start + rows] for start in range(0, len(order), rows)]


def our_translator(way, run, beam):
    """Returns a function that translates a list of texts as one batch."""
    from t2t_keras.decoding.batches import LONGEST
    from t2t_keras.decoding.search_config import SearchConfig
    from t2t_keras.translating.engines.model import ModelEngine
    from t2t_keras.translating.translator import Translator

    settings, model = run.experiment().search, run.loaded(None)
    config = SearchConfig(
        beam=beam,
        alpha=settings.alpha,
        penalty=settings.penalty,
        extra_length=settings.extra_length,
    )
    engine = ModelEngine(model, run.vocabulary(), config, split="off", tags=run.tags())
    engine.ordinary, translator = way(model, config), Translator(engine, run.to)

    def translate(texts):
        engine.batch_tokens = LONGEST * len(texts)
        return translator.translate(texts)

    return translate


def litert_translators(run, beams, exports):
    """Returns {system: {beam: function that translates a list of texts as one batch}}."""
    return {
        name: {beam: litert_translator(engine, run, beam) for beam in beams}
        for name, engine in litert_engines.engines(exports).items()
    }


def litert_translator(engine, run, beam):
    from t2t_keras.decoding.batches import LONGEST
    from t2t_keras.translating.translator import Translator

    translator = Translator(engine, run.to)

    def translate(texts):
        engine.batch_tokens = LONGEST * len(texts)
        return translator.translate(texts, beam=beam, split="off")

    return translate


def ctranslate2_translators(run, beams, beta):
    """Returns {system: {beam: function that translates a list of texts as one batch}}."""
    export = functools.partial(run.export, format="ctranslate2")
    return {
        name: {beam: ctranslate2_translator(engine, run, beam, beta) for beam in beams}
        for name, engine in ctranslate2_engines.engines(export).items()
    }


def ctranslate2_translator(engine, run, beam, beta):
    from t2t_keras.decoding.rows import BEGIN

    tokenizer, extra_length = run.tokenizer(), run.experiment().search.extra_length
    source, target = tokenizer.source, tokenizer.target
    source_pieces = source.pieces(range(source.size))
    ids_of = {piece: id for id, piece in enumerate(target.pieces(range(target.size)))}

    def translate(texts):
        # CTranslate2 adds the end token, and the begin token if the model needs it.
        sources = [[source_pieces[id] for id in ids if id != BEGIN] for ids in source.encode(texts)]
        results = engine.translate_batch(
            sources,
            beam_size=beam,
            patience=PATIENCE,
            length_penalty=beta,
            min_decoding_length=0,
            max_decoding_length=max(map(len, sources)) + 1 + extra_length,
        )
        return target.decode(
            [[ids_of[piece] for piece in result.hypotheses[0]] for result in results]
        )

    return translate


def length_penalty(run, translations):
    """Returns CTranslate2's length penalty β that is closest to ours for these translations."""
    search = run.experiment().search
    if search.penalty == "marian":
        return search.alpha
    pieces = statistics.fmean(map(len, run.tokenizer().target.encode(translations)))
    return search.alpha * pieces / (pieces + 5)


def calls_of(translate, texts, batches):
    """Returns a call for each text alone, then one for all batches."""
    alone = [functools.partial(translate, [text]) for text in texts]
    return [*alone, functools.partial(in_batches, translate, texts, batches)]


def in_batches(translate, texts, batches):
    """Returns the translations of texts, in their order, translated in batches of indices."""
    outputs = {}
    for batch in batches:
        translations = translate([texts[index] for index in batch])
        outputs.update(zip(batch, translations, strict=True))
    return [outputs[index] for index in range(len(texts))]


def first_outputs(translators, texts, batches):
    """Translates everything for the first time, including compilation.

    Returns:
        The seconds, and {beam: `Outputs`}.
    """
    start, outputs = time.perf_counter(), {}
    for beam, translate in translators.items():
        *alone, together = calls_of(translate, texts, batches)
        outputs[beam] = Outputs([call()[0] for call in alone], together())
    return time.perf_counter() - start, outputs


def differences(outputs, expected):
    """Returns the number of lines with a different translation."""
    return sum(one != other for one, other in zip(outputs, expected, strict=True))


def percentile(values, percent):
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
