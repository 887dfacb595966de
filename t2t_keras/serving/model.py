"""A version's model: its engine and translator, its glossaries, and its pairs of languages.

A model for several target languages has a tag or a language code for each: `<2de>`, `>>de<<`.
"""

import functools
import re

import numpy as np

from t2t_keras.checks import check
from t2t_keras.decoding.batches import LONGEST
from t2t_keras.decoding.rows import END
from t2t_keras.export.signature_names import ATTENTION_LONGEST
from t2t_keras.translating.languages import code_of, language_name
from t2t_keras.translating.request import Request, TextError
from t2t_keras.translating.required_phrases import glossary_in, loaded_glossary
from t2t_keras.translating.translator import Translator

GLOSSARIES = 8  # glossaries kept in memory, for requests that repeat them


class ServedModel:
    """A loaded model.

    Args:
        languages: the `Languages` of the model, or None if they are not known.
        glossary: path of the glossary of requests without one of their own, or None.

    Attributes:
        pairs: {(source, target): (value of the option `to` or None, language code before each text
            or "")} for the languages that it translates.
        offers: names of the `Request` fields that a client may set.
    """

    def __init__(self, engine, languages=None, glossary=None):
        engine.name = "this model"  # hides the path from clients
        self.engine, self.languages, self.glossary = engine, languages, None
        self.translator = Translator(engine, engine.tag, ATTENTION_LONGEST)
        self.pairs = pairs_of(self.translator, languages)
        self.offers = offers_of(engine)
        self.parsed = functools.lru_cache(GLOSSARIES)(lambda text: glossary_in(text, engine))
        if glossary is not None:
            self.glossary = loaded_glossary(glossary, engine)
            self.translator.check({"glossary": self.glossary})

    def request(self, options):
        """Returns a `Request`, given {field: value}.

        A glossary is the text of a glossary's file, a dict, or None for the model's own.
        """
        given, widest = options.get("glossary"), self.engine.config.beam
        for name in ("beam", "n_best"):
            value = options.get(name)
            check(not isinstance(value, int) or value <= widest, name, value, f"at most {widest}")
        if isinstance(given, dict):
            given = loaded_glossary(given, self.engine)
        else:
            given = self.parsed(given) if given else self.glossary
        return Request(**options | {"glossary": given})

    def pair_ids(self, sources, targets, longest=LONGEST):
        """Returns the ids of each source and of each target, with their end tokens.

        No text may have more than `longest` tokens.
        """
        longest, tokenizer = min(self.engine.longest or LONGEST, longest), self.translator.tokenizer
        sides = [
            [np.append(ids, END).astype("int32") for ids in language.encode(texts)]
            for language, texts in ((tokenizer.source, sources), (tokenizer.target, targets))
        ]
        for index, pair in enumerate(zip(*sides, strict=True)):
            if max(map(len, pair)) > longest:
                reason = f"a text must have at most {longest} tokens, including the end token"
                raise TextError(index, reason)
        return sides


def offers_of(engine):
    """Returns the names of the fields of `Request` that an engine's clients may set."""
    names = {"split", "confidence", "mbr", *engine.offers}
    if any(engine.tags):
        names.add("to")
    if can(engine.engine_for, engine.config, True, False):
        names.add("prefix")
    if can(engine.engine_for, engine.config, False, True):
        names |= {"glossary", "require"}
    return names | ({"alignments", "markup"} if engine.has_attention else set())


def can(check, *arguments):
    """Returns whether a check passes, that is, raises no `ValueError`."""
    try:
        check(*arguments)
    except ValueError:
        return False
    return True


def has_one_tag(translator):
    """Returns whether all sources get the same tag, or none, unless a request has its own."""
    return can(lambda: translator.tokenizer)


def pairs_of(translator, languages):
    """Returns `ServedModel.pairs` for a model's `Languages`, which may be None."""
    if not languages:
        return {}
    engine = translator.engine
    found = {language_in(tag): (tag, "") for tag in engine.tags if tag}
    found |= {language_in(code): (None, code) for code in engine.tokenizer.source.codes}
    found.pop(None, None)
    if (
        languages.target not in found
        and has_one_tag(translator)
        and (not found or language_name(languages.target) != languages.target)
    ):
        found[languages.target] = None, ""
    return {(languages.source, target): pair for target, pair in found.items()}


def language_in(tag):
    """Returns the language that a tag or a code names, or None.

    >>> language_in("<2de>"), language_in(">>por_BR<<"), language_in("<2news>")
    ('de', 'por-BR', None)
    """
    found = re.fullmatch(r"<2(.+)>|>>(.+)<<", tag)
    return found and code_of(found[1] or found[2])
