"""What t2t-translate translates with: runs or an export, ready to use."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from absl import flags

from pipelines.whole import json_digest
from t2t_keras.cli.backend import load_backend
from t2t_keras.cli.search_flags import ALPHA, BEAM, SEARCH_FLAGS, search_changes
from t2t_keras.cli.to_flag import TO
from t2t_keras.cli.unused_flags import refuse_unused
from t2t_keras.cli.weights_flag import WEIGHTS

N_BEST = flags.DEFINE_integer("n_best", None, "Translations per input line. Default: 1.")
ALIGNMENTS = flags.DEFINE_bool("alignments", False, "Write word alignments after a tab.")
CONFIDENCE = flags.DEFINE_bool(
    "confidence", False, "With --json: write the confidence of each word of a translation."
)
PREFIX = flags.DEFINE_string("prefix", None, "Text that every translation begins with.")
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
MARKUP = flags.DEFINE_enum(
    "markup",
    None,
    ["html", "xml", "placeholders"],
    "Kind of markup that is kept: tags, entities, placeholders such as {name} and %s, URLs and "
    "e-mail addresses. placeholders: without tags. Default: all of it is text.",
)
NOT_CTRANSLATE2 = (TO, WEIGHTS, CONFIDENCE, PREFIX, PREFIXES, GLOSSARY, REQUIRE, MARKUP, ALIGNMENTS)
FIXED_SEARCH = [flag for flag in SEARCH_FLAGS if flag is not BEAM and flag is not ALPHA]


class Model(NamedTuple):
    """Runs or an export, ready to translate.

    Args:
        translate: function like `Translator.translate`, which returns lists of `Translation`s.
        n_best: number of translations per text.
        align: function from a `Translation` to pairs of word indices, or None.
        confidence: function from a list of `Translation`s to the confidence of their words, or
            None.
        identity: everything that the translations depend on besides the texts, in JSON types.
        split: default of --split.
        requirements: function from texts and lists of phrases, or None, to the argument
            `requirements` of `translate`.
    """

    translate: Callable
    n_best: int
    align: Callable | None
    confidence: Callable | None
    identity: dict
    split: str = "auto"
    requirements: Callable = lambda texts, require: None


def load_model(folders):
    """Returns the `Model` of an export, a run or an ensemble."""
    model = from_ctranslate2(folders) or from_export(folders)
    if model is None:
        load_backend()
        model = from_runs(folders)
    return model


def from_runs(folders):
    """Returns the `Model` of a run or of an ensemble."""
    from t2t_keras.runs import load_runs

    runs = load_runs(folders, TO.value)
    changes = search_changes() | {"n_best": N_BEST.value}
    translator, config = runs.translator(WEIGHTS.value, **changes), runs.search(**changes)
    identity = {"weights": runs.weights_digests(WEIGHTS.value)}
    identity["search"] = dataclasses.asdict(config)
    if TO.value:
        identity["to"] = TO.value
    align = None
    if ALIGNMENTS.value:
        align = runs.aligner(WEIGHTS.value)
        if choice := runs.alignment_choice():
            identity["alignment"] = dataclasses.asdict(choice)
    confidence = runs.confidence(WEIGHTS.value) if CONFIDENCE.value else None
    translate = translator.translate
    if MARKUP.value:
        translate = runs.marked(translate, MARKUP.value, WEIGHTS.value).translate
        identity["markup"] = MARKUP.value
        if choice := runs.alignment_choice():
            identity["alignment"] = dataclasses.asdict(choice)
    split = "off" if runs.prepared_with("leaves") else "auto"
    requirements = requirements_for(runs.tokenizer, identity)
    return Model(translate, config.n_best, align, confidence, identity, split, requirements)


def requirements_for(load_tokenizer, identity):
    """Returns the function `requirements` of a `Model`, and adds the glossary to its identity.

    Without phrases, it loads no tokenizer.
    """
    identity["glossary"] = None
    if not (GLOSSARY.value or REQUIRE.value):
        return lambda texts, require: None
    from t2t_keras.translating.requirements import loaded_glossary, requirements_of

    tokenizer = load_tokenizer()
    glossary = loaded_glossary(GLOSSARY.value, tokenizer)
    if glossary is not None:
        identity["glossary"] = json_digest(glossary.targets)
    return lambda texts, require: requirements_of(tokenizer, texts, glossary, require)


def from_ctranslate2(folders):
    """Returns the `Model` of a CTranslate2 folder, without Keras, or None if no folder is one."""
    from t2t_keras.translating.engines.ctranslate2 import CTranslate2Export, is_ctranslate2

    if not any(is_ctranslate2(folder) for folder in folders):
        return None
    check_alone(folders)
    refuse_unused(NOT_CTRANSLATE2, "with a CTranslate2 folder, only with the run")
    export = CTranslate2Export(folders[0])
    changes = search_changes() | {"n_best": N_BEST.value}
    translator, config = export.translator(**changes), export.search(**changes)
    identity = {"ctranslate2": export.digest(), "search": dataclasses.asdict(config)}
    return Model(translator.translate, config.n_best, None, None, identity)


def check_alone(folders):
    if len(folders) > 1:
        raise ValueError(f"an export cannot join an ensemble. Received: {' '.join(folders)}")


def from_export(folders):
    """Returns the `Model` of an export, without Keras, or None if no folder is one."""
    from t2t_keras.translating.export_folders import find_export

    if not any(find_export(folder) for folder in folders):
        return None
    check_alone(folders)
    fixed = [flag.name for flag in (*FIXED_SEARCH, TO, WEIGHTS) if flag.present]
    if fixed:
        raise ValueError(
            f"--{fixed[0]} does not work with an export: t2t-export fixed the search of "
            f"{folders[0]}. Give the run, or export it again"
        )
    load_backend(with_keras=False)
    from t2t_keras.translating.engines.saved_model_export import Export

    export = Export(find_export(folders[0]))
    changes = {flag.name: flag.value for flag in (BEAM, ALPHA) if flag.value is not None}
    config = export.search(n_best=1 if N_BEST.value is None else N_BEST.value, **changes)
    export.check_search(
        config,
        prefixes=bool(PREFIX.value or PREFIXES.value),
        phrases=bool(GLOSSARY.value or REQUIRE.value),
    )
    identity = {"export": export.digest(), **changes}
    translator = export
    if MARKUP.value:
        translator = export.marked(MARKUP.value)
        identity["markup"] = MARKUP.value

    def translate(texts, first_index, **arguments):
        return translator.translate(texts, n_best=config.n_best, **changes, **arguments)

    align = export.aligner() if ALIGNMENTS.value else None
    confidence = export.confidence if CONFIDENCE.value else None
    if confidence:
        confidence([])  # refuses an export of an earlier version before the work
    requirements = requirements_for(lambda: export.tokenizer, identity)
    return Model(translate, config.n_best, align, confidence, identity, "auto", requirements)
