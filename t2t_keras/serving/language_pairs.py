"""The pairs of languages that a model translates, and what a request for each of them needs.

A model for several target languages has a tag or a language code for each: `<2de>`, `>>de<<`.
"""

import re
from typing import NamedTuple

from t2t_keras.serving.translations import can
from t2t_keras.translating.languages import code_of, is_known


class Pair(NamedTuple):
    """How to request a translation into a target language.

    Args:
        to: value of the option `to`, or None.
        code: language code before each text, such as ">>de<<", or "".
    """

    to: str | None = None
    code: str = ""


def pairs_of(translations, languages):
    """Returns {(source, target): `Pair`} for the languages of a model.

    Args:
        translations: the model's `Translations`. None: the model translates no texts.
        languages: its `Languages`. None: they are not known, and there are no pairs.
    """
    if not (translations and languages):
        return {}
    translator = translations.translator
    found = {language_in(tag): Pair(to=tag) for tag in translator.engine.tags if tag}
    codes = translator.engine.tokenizer.source.codes
    found |= {language_in(code): Pair(code=code) for code in codes}
    found.pop(None, None)
    works_without = can(lambda: translator.tokenizer)  # fails if the data has several tags
    if (
        languages.target not in found
        and works_without
        and (not found or is_known(languages.target))
    ):
        found[languages.target] = Pair()
    return {(languages.source, target): pair for target, pair in found.items()}


def language_in(tag):
    """Returns the language that a tag or a code names, or None.

    >>> language_in("<2de>"), language_in(">>por_BR<<"), language_in("<2news>")
    ('de', 'por-BR', None)
    """
    found = re.fullmatch(r"<2(.+)>|>>(.+)<<", tag)
    return found and code_of(found[1] or found[2])
