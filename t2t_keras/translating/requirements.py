"""Glossaries and required phrases, as given by a user."""

from pipelines.glossary import Glossary
from t2t_keras.translating.required_phrases import Requirements


def requirements_of(tokenizer, texts, glossary=None, require=None):
    """Returns the `Requirements` of texts, or None if there are none.

    Args:
        tokenizer: the vocabulary's tokenizer.
        texts: a list of strings.
        glossary: {source phrase: target phrase}, a `Glossary`, the path of its file, or None.
        require: a list of phrases for each text, or None.
    """
    if require is not None:
        require = [list_of_phrases(phrases) for phrases in require]
        if len(require) != len(texts):
            raise ValueError(
                f"`require` must have a list of phrases for each text. Received: {len(require):,} "
                f"lists for {len(texts):,} texts"
            )
    if glossary is None and require is None:
        return None
    return Requirements(require, loaded_glossary(glossary, tokenizer))


def list_of_phrases(phrases):
    if isinstance(phrases, str) or not all(isinstance(each, str) for each in phrases):
        raise ValueError(f"`require` must have lists of phrases. Received: {phrases!r}")
    return [*phrases]


def loaded_glossary(glossary, tokenizer):
    """Returns a `Glossary` that normalizes texts as the tokenizer does, or None."""
    if glossary is None or isinstance(glossary, Glossary):
        return glossary
    if isinstance(glossary, dict):
        return Glossary(glossary, tokenizer.normalization)
    return Glossary.read(glossary, tokenizer.normalization)
