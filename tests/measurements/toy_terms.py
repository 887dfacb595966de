"""Glossaries for the toy corpus, and references that use their terms.

Half of the nouns have a term: another German noun. The reference is the sentence that the grammar
generates with these nouns. So it is known which word of the usual translation each term replaces,
and which articles and endings it requires.
"""

import random
from typing import NamedTuple

from pipelines.toy.grammar import Sentence, has_held_out
from pipelines.toy.lexicon import PEOPLE, THINGS, Noun
from pipelines.toy.links import alignment

KINDS = {
    "same gender": "a noun of the same gender that translates another word",
    "new word": "a noun of the same gender that is in no sentence of the corpus",
    "other gender": "a noun of another gender",
}


class Occurrence(NamedTuple):
    """A term in a sentence.

    Args:
        term: the term.
        replaced: the noun that stands in its place in the usual translation.
        place: index of the term among the words of the reference.
    """

    term: str
    replaced: str
    place: int


class TermSentence(NamedTuple):
    """A sentence with terms.

    Args:
        source: the English sentence.
        reference: the German sentence with the terms, as they stand in the glossary.
        occurrences: the `Occurrence`s.
    """

    source: str
    reference: str
    occurrences: list


def terms_of(kind, seed=0):
    """Returns {noun: the `Noun` that the glossary requires} for half of the nouns.

    Args:
        kind: one of `KINDS`.
        seed: random seed.
    """
    choices, terms = random.Random(f"terms {seed}"), {}
    for nouns in (PEOPLE, THINGS):
        for noun in choices.sample(nouns, len(nouns) // 2):
            if kind == "new word":
                forms = (f"Lieblings{form.lower()}" for form in (noun.german, noun.german_plural))
                gender = noun.gender
            else:
                same = kind == "same gender"
                others = [n for n in nouns if n != noun and (n.gender == noun.gender) == same]
                other = choices.choice(others)
                forms, gender = (other.german, other.german_plural), other.gender
            terms[noun] = Noun(noun.english, noun.english_plural, *forms, gender)
    return terms


def glossary_of(terms):
    """Returns {English form: German form} for the result of `terms_of`."""
    singular = {noun.english: term.german for noun, term in terms.items()}
    return singular | {noun.english_plural: term.german_plural for noun, term in terms.items()}


def sentences_with_terms(terms, seed=0):
    """Yields an unlimited number of `TermSentence`s of the test split.

    Args:
        terms: the result of `terms_of`.
        seed: random seed.
    """
    glossary = glossary_of(terms)
    choices, again = random.Random(f"sentences with terms {seed}"), random.Random()
    while True:
        again.setstate(choices.getstate())
        usual, required = Sentence(choices), Sentence(again)
        required.terms = terms
        english, german = usual.make()
        _, reference = required.make()
        if has_held_out(usual):
            source, words, before = english.split(), reference.split(), german.split()
            occurrences = []
            for link in alignment(usual.english, usual.german).split():
                read, _, written = link.partition("-")
                term = written and glossary.get(core(source[int(read)], int(read) == 0))
                if term:
                    place = int(written)
                    words[place] = words[place].replace(core(words[place]), term)
                    occurrences.append(Occurrence(term, core(before[place]), place))
            if occurrences:
                yield TermSentence(english, " ".join(words), occurrences)


def core(word, is_first=False):
    """Returns a word without punctuation, and without the capital letter of a sentence."""
    word = word.strip(".,?")
    return word[0].lower() + word[1:] if is_first else word
