"""What t2t-translate translates with: runs or an export, and the options of all lines."""

import dataclasses
from typing import Any, NamedTuple

from absl import flags

from pipelines.whole import json_digest
from t2t_keras.cli.backend import load_backend, load_backend_of
from t2t_keras.cli.field_flags import define_flags
from t2t_keras.cli.search_flags import search_changes
from t2t_keras.cli.to_flag import TO
from t2t_keras.cli.unused_flags import refuse_unused
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.translating.request import SEARCH, Request

N_BEST = flags.DEFINE_integer("n_best", None, "Translations per input line. Default: 1.")
# The fields of a request that hold for all lines. --to is a flag of other commands, too.
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
    "Text file with a source phrase, a tab and a target phrase per line. Where the source phrase "
    "occurs, the translation contains the target phrase.",
)
REQUIRE = flags.DEFINE_string(
    "require",
    None,
    "Text file with a line for each input line: phrases that its translation must contain, "
    "separated by tabs.",
)


class Model(NamedTuple):
    """Runs or an export, ready to translate.

    Args:
        translator: a `Translator`.
        options: fields of the `Request` of every line.
        lines: number of translations per line.
        identity: everything that the translations depend on besides the texts, in JSON types.
    """

    translator: Any
    options: dict
    lines: int
    identity: dict


def load_model(folders):
    """Returns the `Model` of an export, a run or an ensemble."""
    translator, identity = from_export(folders) or from_runs(folders)
    options = {"n_best": N_BEST.value, **search_changes(), "glossary": None}
    given = {name: flag.value for name, flag in OF_ALL_LINES.items()}
    options |= {name: value for name, value in given.items() if value is not None}
    if GLOSSARY.value:
        from t2t_keras.translating.required_phrases import loaded_glossary

        glossary = loaded_glossary(GLOSSARY.value, translator.tokenizer.normalization)
        options["glossary"] = glossary
    own = {"prefixes": ["a"] if PREFIXES.value else None, "require": [["a"]] * bool(REQUIRE.value)}
    config = translator.check(options, **{name: value for name, value in own.items() if value})
    identity |= {"search": dataclasses.asdict(config), "to": TO.value, **given}
    identity["glossary"] = GLOSSARY.value and json_digest(options["glossary"].targets)
    identity["split"] = given["split"] or translator.engine.split
    return Model(translator, options, config.n_best, identity)


def from_export(folders):
    """Returns the `Translator` of an export and its digest, or None if no folder is one."""
    from t2t_keras.translating.find import is_export, load_translator

    if not any(map(is_export, folders)):
        return None
    if len(folders) > 1:
        raise ValueError(f"an export cannot join an ensemble. Received: {' '.join(folders)}")
    refuse_unused([WEIGHTS], f"with an export: t2t-export fixed the weights of {folders[0]}")
    load_backend_of(folders[0])
    translator = load_translator(folders[0], TO.value)
    return translator, translator.engine.digest()


def from_runs(folders):
    """Returns the `Translator` of a run or of an ensemble, and the digests of its weights."""
    load_backend()
    from t2t_keras.runs import load_runs

    runs = load_runs(folders, TO.value)
    identity = {"weights": runs.weights_digests(WEIGHTS.value)}
    if (ALIGNMENTS.value or MARKUP.value) and (choice := runs.alignment_choice()):
        identity["alignment"] = dataclasses.asdict(choice)
    return runs.translator(WEIGHTS.value), identity
