"""Converts requests to rows of ids: divides texts and encodes sentences, prefixes and phrases."""

import collections
from typing import Any, NamedTuple

import numpy as np

from pipelines.glossaries.glossary import Matches
from pipelines.text.sentences import split_sentences
from t2t_keras.translating.markup.marked_translation import marked_text_of
from t2t_keras.translating.minimum_bayes_risk import NEXT_ROW, search_of
from t2t_keras.translating.request import in_text
from t2t_keras.translating.required_phrases import PhraseEncoder, loaded_glossary
from t2t_keras.translating.search_options import search_config
from t2t_keras.translating.sentences import parts_of, whole, with_codes
from t2t_keras.translating.terms import terms_of


class Text(NamedTuple):
    """A request, ready to be translated."""

    request: Any
    tokenizer: Any  # it puts the request's tag before its sources
    encoder: PhraseEncoder
    glossary: Any
    sentences: list  # each with the language code that applies to it
    separators: list  # between the sentences
    matches: list  # the `Matches` of each sentence
    marked: Any  # the `MarkedText`. None: the request keeps no markup
    rows: int = 1  # rows of the engine for each part
    risk: Any = None  # the `MinimumBayesRisk`. None: the search chooses the translations

    @property
    def engine(self):
        """The engine that searches, with the settings of the request."""
        return self.encoder.engine

    def best(self, ids, candidates):
        """Returns the `Translation`s of a part, given its ids and all that was found."""
        if self.risk is None or not candidates:
            return candidates
        source = self.tokenizer.source
        return self.risk.best(candidates, *source.decode([ids[source.lead(ids) :]]))

    def phrases(self, index):
        """Returns the phrases that the translation of a sentence must contain.

        Each is listed as often as it must occur: once if both the request and a glossary require it
        once.
        """
        of_glossary = collections.Counter(self.matches[index].targets())
        return [*(collections.Counter(self.request.require) | of_glossary).elements()]

    def parts(self, index, ids, longest):
        """Returns (ids, phrases, `Matches`) of each part of a sentence, given the sentence's ids.

        Each part has the glossary phrases of its words. The first one also has the phrases of the
        request itself, and the phrases of words that the division separates.
        """
        source, matches, phrases = self.tokenizer.source, self.matches[index], self.phrases(index)
        parts = parts_of(ids, source, longest)
        if phrases and not parts:
            raise ValueError(
                f"the translation of an empty text is empty, so it cannot contain {phrases[0]!r}. "
                "Do not require a phrase"
            )
        if not phrases or len(parts) == 1:
            return [(part, phrases, matches) for part in parts]
        others, found = collections.Counter(phrases), []
        for part in parts:
            (text,) = source.decode([part[source.lead(part) :]])
            matches = self.glossary.matches_in(text) if self.glossary else matches
            own = collections.Counter(matches.targets()) & others
            others -= own
            found.append((part, [*own.elements()], matches))
        found[0][1].extend(others.elements())
        return found


class Job(NamedTuple):
    """A sentence to search for, or one part of a sentence that is too long."""

    text_index: int
    sentence_index: int
    ids: np.ndarray
    prefix: list
    phrases: list = ()  # ids of each phrase that the translation must contain
    terms: list = ()  # the `Term`s, whose target phrases are among the phrases
    others: list = ()  # the phrases that no term accounts for
    draw: int = 0  # added to the index that selects random numbers, in further rows of a part


def texts_of(requests, engine, tokenizer_for):
    """Returns the `Text` of each `Request`.

    `tokenizer_for` is a function that takes a request's `to` and returns the tokenizer.
    """
    glossaries, encoders, texts = {}, {}, []
    for index, request in enumerate(requests):
        with in_text(index):
            tokenizer, given = tokenizer_for(request.to), id(request.glossary)
            if given not in glossaries:
                glossaries[given] = loaded_glossary(request.glossary, engine)
            glossary, (changes, *by_risk) = glossaries[given], search_of(request, engine.config)
            extras = bool(request.prefix), bool(request.require or glossary is not None)
            key = repr((changes, extras))
            if key not in encoders:
                config = search_config(engine.config, engine.tokenizer, **changes)
                encoders[key] = PhraseEncoder(engine.engine_for(config, *extras))
            split_code = tokenizer.source.split_code
            sentences, separators, marked = divided(request, engine.split)
            sentences = with_codes(sentences, split_code)
            matches = [
                glossary.matches_in(split_code(each)[1]) if glossary else Matches("", [])
                for each in sentences
            ]
            own = glossary, sentences, separators, matches, marked, *by_risk
            texts.append(Text(request, tokenizer, encoders[key], *own))
    return texts


def divided(request, split):
    """Returns the sentences of a request's text, the separators, and the `MarkedText` or None."""
    divide = split_sentences if (request.split or split) == "auto" else whole
    if request.require:
        divide = whole
    if request.markup:
        marked = marked_text_of(request.text, request.markup, divide)
        return marked.sentences, [], marked
    return *divide(request.text), None


def jobs_of(texts, longest):
    """Returns a `Job` for each part, of fewer than `longest` tokens, of each sentence of `Text`s.

    Only the first part of a text has its prefix.
    """
    encoded = [iter(sentences) for sentences in encoded_sentences(texts)]
    prefixes = [text.request.prefix for text in texts]
    starts = texts[0].tokenizer.target.encode(prefixes) if any(prefixes) else [()] * len(texts)
    jobs = []
    for index, text in enumerate(texts):
        start, encoder = [*starts[index]], text.encoder
        for sentence, of_sentence in enumerate(encoded[index]):
            with in_text(index):
                for ids, phrases, matches in text.parts(sentence, of_sentence, longest - 1):
                    job = Job(index, sentence, ids, start)
                    start = []
                    if phrases:
                        encoded_phrases = encoder.ids_of(phrases, job.prefix)
                        terms = terms_of(ids, matches, text.tokenizer.source, encoder.encoded)
                        others = collections.Counter(phrases)
                        others -= collections.Counter(matches.targets())
                        others = [encoder.encoded(each) for each in others.elements()]
                        job = job._replace(phrases=encoded_phrases, terms=terms, others=others)
                    jobs += [job._replace(draw=row * NEXT_ROW) for row in range(text.rows)]
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
