"""The model of t2t-translate, runs or an export, and the options of all lines."""

import dataclasses
import functools
from typing import Any, NamedTuple

from absl import flags

from pipelines.atomic_files import json_digest
from t2t_keras.cli.flags.engine_flags import opened_model
from t2t_keras.cli.flags.field_flags import define_flags
from t2t_keras.cli.flags.search_flags import search_changes
from t2t_keras.cli.flags.shared_flags import shared_flag
from t2t_keras.cli.text_files.translation_lines import JSON, SCORES, lines_of
from t2t_keras.translating.request import SEARCH, Request

TO = shared_flag("to")

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


class TranslationModel(NamedTuple):
    """Runs or an export, ready to translate.

    Args:
        translator: a `Translator`.
        options: fields of the `Request` of every line.
        lines: number of translations per line.
        formatted: function of (texts, the `Translation`s of each) that returns the output in bytes.
        identity: everything that the translations depend on besides the texts, in JSON types.
    """

    translator: Any
    options: dict
    lines: int
    formatted: Any
    identity: dict


def load_model(folders):
    """Returns the `TranslationModel` of an export, a run or an ensemble, with checked options."""
    from t2t_keras.translating.required_phrases import loaded_glossary

    changes = search_changes()
    translator, identity = opened_model(folders, method=changes.get("method"))
    engine = translator.engine
    given = {name: flag.value for name, flag in OF_ALL_LINES.items()}
    options = {"n_best": N_BEST.value, **changes}
    options |= {name: value for name, value in given.items() if value is not None}
    if GLOSSARY.value:
        options["glossary"] = loaded_glossary(GLOSSARY.value, engine)
    own = {"prefixes": ["a"]} if PREFIXES.value else {}
    own |= {"require": [["a"]]} if REQUIRE.value else {}
    config = translator.check(options, **own)
    style = {"scores": SCORES.value, "as_json": JSON.value, "alignments": ALIGNMENTS.value}
    formatted = functools.partial(lines_of, count=config.n_best, **style)
    identity |= given | {"search": dataclasses.asdict(config)}
    identity["glossary"] = GLOSSARY.value and json_digest(options["glossary"].targets)
    identity["split"] = given["split"] or engine.split
    if (ALIGNMENTS.value or MARKUP.value) and engine.alignment:
        identity["alignment"] = dataclasses.asdict(engine.alignment)
    return TranslationModel(translator, options, config.n_best, formatted, identity)
