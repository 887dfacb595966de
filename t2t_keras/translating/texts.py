"""Converts requests to rows of ids: divides texts and encodes sentences, prefixes and phrases."""

import collections
from typing import Any, NamedTuple

import numpy as np

from pipelines.glossaries.glossary import Matches
from pipelines.text.sentences import split_sentences
from t2t_keras.translating.markup.marked_translation import marked_text_of
from t2t_keras.translating.request import in_text
from t2t_keras.translating.required_phrases import PhraseEncoder, loaded_glossary, phrases_of
from t2t_keras.translating.search_options import search_config
from t2t_keras.translating.sentences import parts_with_phrases, whole, with_codes
from t2t_keras.translating.terms import terms_of


class Text(NamedTuple):
    """A request, ready to be translated.

    Args:
        request: the `Request`.
        tokenizer: the tokenizer that puts the request's tag before its sources.
        engine: the engine that searches, with the settings of the request.
        encoder: the `PhraseEncoder`.
        glossary: the `Glossary`, or None.
        sentences, separators: the sentences of the text, each with the language code that applies
            to it, and the separators between them.
        matches: the `Matches` of each sentence.
        marked: the `MarkedText`. None: the request keeps no markup.
    """

    request: Any
    tokenizer: Any
    engine: Any
    encoder: PhraseEncoder
    glossary: Any
    sentences: list
    separators: list
    matches: list
    marked: Any

    def phrases(self, index):
        """Returns the phrases that the translation of a sentence must contain."""
        return phrases_of(self.request.require, self.matches[index])


class Job(NamedTuple):
    """A sentence to search for, or one part of a sentence that is too long."""

    text_index: int
    sentence_index: int
    ids: np.ndarray
    prefix: list
    phrases: list = ()  # ids of each phrase that the translation must contain
    terms: list = ()  # the `Term`s, whose target phrases are among the phrases
    others: list = ()  # the phrases that no term accounts for


def texts_of(requests, engine, tokenizer_for):
    """Returns the `Text` of each `Request`.

    Args:
        requests: list of `Request`s.
        engine: the engine.
        tokenizer_for: function that takes a request's `to` and returns the tokenizer.
    """
    glossaries, searches, texts = {}, {}, []
    for index, request in enumerate(requests):
        with in_text(index):
            tokenizer, given = tokenizer_for(request.to), id(request.glossary)
            if given not in glossaries:
                glossaries[given] = loaded_glossary(request.glossary, engine)
            glossary, changes = glossaries[given], request.search()
            extras = bool(request.prefix), bool(request.require or glossary is not None)
            key = repr((changes, extras))
            if key not in searches:
                searches[key] = search_of(changes, extras, engine)
            split_code = tokenizer.source.split_code
            sentences, separators, marked = divided(request, split_code, engine.split)
            matches = [
                glossary.matches_in(split_code(each)[1]) if glossary else Matches("", [])
                for each in sentences
            ]
            own = glossary, sentences, separators, matches, marked
            texts.append(Text(request, tokenizer, *searches[key], *own))
    return texts


def search_of(changes, extras, engine):
    """Returns the engine and the `PhraseEncoder` of a request.

    Args:
        changes: {setting of the search: value}, as changed by the request.
        extras: whether the request has a prefix, and whether it may have phrases.
        engine: the engine.
    """
    config = search_config(engine.config, engine.tokenizer, **changes)
    engine = engine.engine_for(config, *extras)
    tokenizer = engine.tokenizer.target
    return engine, PhraseEncoder(tokenizer, config, engine.longest, engine.phrase_room)


def divided(request, split_code, split):
    """Returns the sentences of a request's text, the separators, and the `MarkedText` or None.

    Args:
        request: the `Request`.
        split_code: see `with_codes`.
        split: "auto" or "off", for a request without `split`.
    """
    divide = split_sentences if (request.split or split) == "auto" else whole
    if request.require:
        divide = whole
    if request.markup:
        marked = marked_text_of(request.text, request.markup, divide)
        return with_codes(marked.sentences, split_code), [], marked
    sentences, separators = divide(request.text)
    return with_codes(sentences, split_code), separators, None


def jobs_of(texts, longest):
    """Returns a `Job` for each part of each sentence of `Text`s.

    Only the first part of a text has its prefix.

    Args:
        texts: `Text`s.
        longest: maximum tokens of a source, including the end token.
    """
    encoded = [iter(sentences) for sentences in encoded_sentences(texts)]
    prefixes = [text.request.prefix for text in texts]
    starts = texts[0].tokenizer.target.encode(prefixes) if any(prefixes) else [()] * len(texts)
    jobs = []
    for index, text in enumerate(texts):
        start, encoder, source = [*starts[index]], text.encoder, text.tokenizer.source
        for sentence, matches in enumerate(text.matches):
            with in_text(index):
                own = next(encoded[index]), text.phrases(sentence), matches, text.glossary
                parts = parts_with_phrases(*own, source, longest - 1, encoder)
                for ids, phrases, of_part in parts:
                    job = Job(index, sentence, ids, start)
                    start = []
                    if phrases:
                        encoded_phrases = encoder.ids_of(phrases, job.prefix)
                        terms = terms_of(ids, of_part, source, encoder.encoded)
                        others = collections.Counter(phrases)
                        others -= collections.Counter(of_part.targets())
                        others = [encoder.encoded(each) for each in others.elements()]
                        job = job._replace(phrases=encoded_phrases, terms=terms, others=others)
                    jobs.append(job)
    return jobs


def encoded_sentences(texts):
    """Returns the ids of each sentence of each text. Calls each tokenizer only once."""
    results = [None] * len(texts)
    for indices in alike(texts, lambda text: id(text.tokenizer)):
        flat = [sentence for index in indices for sentence in texts[index].sentences]
        ids = iter(texts[indices[0]].tokenizer.source.encode(flat) if flat else [])
        for index in indices:
            results[index] = [next(ids) for _ in texts[index].sentences]
    return results


def alike(items, key):
    """Groups items by key. Returns a list of item indices for each group."""
    groups = {}
    for index, item in enumerate(items):
        groups.setdefault(key(item), []).append(index)
    return [*groups.values()]
