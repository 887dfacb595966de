"""A toy corpus: an unlimited, seeded series of random English sentences and German translations.

It needs no download. The vocabulary is small: about a hundred words in a few hundred forms. But the
sentences have the features that make German hard: gender, case, adjective endings, agreement of
verb and subject, the finite verb in second place, participles and infinitives at the end, and
subordinate and relative clauses with the verb last.

Every sentence of the test split has a combination of a verb and a noun that no training sentence
has. So a model that does well on this split has learned the grammar, not the sentences.
"""

import dataclasses
import itertools
import random
import zlib
from types import MappingProxyType

from pipelines.toy.clause import Clause, english_present, german_finite
from pipelines.toy.links import Relation, alignment, key_of, linked, word_places
from pipelines.toy.words import (
    ADJECTIVES,
    CONJUNCTIONS,
    DER,
    DIESER,
    EIN,
    MIXED,
    OF_PEOPLE,
    PEOPLE,
    PRONOUNS,
    STRONG_PLURAL,
    THINGS,
    WEAK,
    WITH_CLAUSE,
    WITH_PERSON,
    WITH_THING,
    Noun,
)

LANGUAGES = ("en", "de")
SPLITS = ("train", "test")
ONE_IN = 10  # one in ten combinations of verb and noun is reserved for the test split


@dataclasses.dataclass
class Phrase:
    """A noun phrase in both languages, with the features that other words agree with."""

    english: list
    german: list
    person: int = 2  # 0: I, 1: you, 2: he, she, it
    plural: bool = False
    definite: bool = True
    noun: Noun | None = None
    head: str | None = None  # the English noun or pronoun, a `Linked` word


class Sentence:
    """A sentence pair that is being generated.

    Args:
        random: a `random.Random`.
        terms: {noun: the `Noun` whose German forms and gender are used instead}. The English
            sentence does not depend on it.

    Attributes:
        combinations: the (German verb, German noun) combinations that the sentence contains.
        phrases: the noun phrases that the sentence contains.
        alignment: word alignment of the pair, see `aligned_sentences`. None before `make`.
        places: {key of a meaning: index of its first English word}. None before `make`.
    """

    def __init__(self, random, terms=MappingProxyType({})):
        self.random, self.terms = random, terms
        self.combinations = set()
        self.phrases = []
        self.related = []  # (kind of relation, key of the word at its start, and at its end)
        self.alignment = self.places = None

    def chance(self, probability):
        return self.random.random() < probability

    def relate(self, kind, start, end):
        """Records a relation between the English words with two keys."""
        self.related.append((kind, start, end))

    def relations(self):
        """Returns the `Relation`s between the English words, after `make`."""
        return [
            Relation(kind, self.places[start], self.places[end])
            for kind, start, end in self.related
        ]

    def make(self):
        """Generates the sentence and returns it as (English, German)."""
        kind = self.random.choices(
            ["statement", "question", "two clauses", "that"], weights=[6, 1, 2, 2]
        )[0]
        if kind == "question":
            english, german, end = *self.question(), "?"
        elif kind == "statement":
            english, german, end = *self.statement(), "."
        elif kind == "that":
            english, german, end = *self.reported(), "."
        else:
            english, german, end = *self.two_clauses(), "."
        self.alignment = alignment(english, german)
        self.places = word_places(english)
        return written(english, end), written(german, end)

    def statement(self):
        clause = Clause(self)
        in_front = clause.time and self.chance(0.5)
        return clause.english(in_front), clause.german_main(in_front)

    def question(self):
        clause = Clause(self)
        return clause.english_question(), clause.german_question()

    def reported(self):
        """Returns a sentence such as "The man knows that …", as English and German words."""
        verb = self.random.choice(WITH_CLAUSE)
        subject = self.subject(verb)
        inner = Clause(self)
        knows, weiß = linked(english_present(verb, subject), german_finite(verb.german, subject))
        self.relate("subject", key_of(knows), key_of(subject.head))
        that, dass = linked("that", "dass")
        english = [*subject.english, knows, that, *inner.english()]
        german = [*subject.german, weiß, ",", dass]
        return english, [*german, *inner.german_subordinate()]

    def two_clauses(self):
        main = Clause(self)
        other = Clause(self, with_tense=main.tense)
        conjunction = self.random.choice(sorted(CONJUNCTIONS))
        german = CONJUNCTIONS[conjunction]
        if conjunction == "when" and other.tense == "past":
            german = "als"
        conjunction, german = linked(conjunction, german)
        english = [conjunction, *other.english()]
        german = [german, *other.german_subordinate()]
        if self.chance(0.5):
            return [*main.english(), *english], [*main.german_main(), ",", *german]
        # A clause in front takes the first place, so the German verb follows immediately.
        return [*english, ",", *main.english()], [*german, ",", *main.german_question()]

    def subject(self, verb, nouns=PEOPLE, relative=False):
        if self.chance(0.25):
            english, german, person, plural = self.random.choice(PRONOUNS)
            english, german = linked(english, german)
            return Phrase([english], [german], person, plural, head=english)
        return self.noun_phrase(verb, nouns, "nominative", relative and self.chance(0.12))

    def noun_phrase(self, verb, nouns, case, relative=False):
        """Returns a determiner and a noun, perhaps with an adjective and a relative clause."""
        noun, plural = self.random.choice(nouns), self.chance(0.3)
        self.combinations.add((verb.german[0], noun.german))
        term = self.terms.get(noun, noun)
        form = "p" if plural else term.gender
        english_noun = noun.english_plural if plural else noun.english
        german_noun = term.german_plural if plural else term.german
        if plural and case == "dative" and german_noun[-1] not in "ns":
            german_noun += "n"
        adjective = None
        if self.chance(0.4):
            adjective = self.random.choice(OF_PEOPLE if nouns is PEOPLE else sorted(ADJECTIVES))
        determiner = self.random.choices(
            ["the", "a", "this", "my", "your", "our"], weights=[8, 6, 2, 2, 1, 1]
        )[0]
        if determiner == "the":
            english, german, endings = "the", DER[case][form], WEAK
        elif determiner == "this":
            english = "these" if plural else "this"
            german, endings = "dies" + DIESER[case][form], WEAK
        elif determiner == "a" and plural:
            english = german = endings = None
        elif determiner == "a":
            english = "an" if (adjective or english_noun)[0] in "aeiou" else "a"
            german, endings = "ein" + EIN[case][form], MIXED
        else:
            stem = {"my": "mein", "your": "dein", "our": "unser"}[determiner]
            english, german, endings = determiner, stem + EIN[case][form], MIXED
        words = [(english, german)] if english else []
        if adjective:
            ending = endings[case][form] if endings else STRONG_PLURAL[case]
            words.append((adjective, ADJECTIVES[adjective] + ending))
        words.append((english_noun, german_noun))
        english, german = map(list, zip(*(linked(*pair) for pair in words), strict=True))
        phrase = Phrase(english, german, 2, plural, determiner != "a", noun, english[-1])
        if determiner != "a" or not plural:
            self.relate("determiner", key_of(english[0]), key_of(phrase.head))
        self.phrases.append(phrase)
        if relative:
            self.add_relative_clause(phrase, form)
        return phrase

    def add_relative_clause(self, phrase, form):
        """Adds a clause such as "that sees the cat" or "that the cat sees" to a noun phrase."""
        if phrase.noun in THINGS or self.chance(0.4):
            verbs = WITH_THING if phrase.noun in THINGS else WITH_PERSON
            verb = self.random.choice(verbs)
            subject = self.subject(verb)
            case = "accusative"
            sees, sieht = linked(
                english_present(verb, subject), german_finite(verb.german, subject)
            )
            english, german = [*subject.english, sees], [*subject.german, sieht]
            self.relate("subject", key_of(sees), key_of(subject.head))
            self.relate("object", key_of(sees), key_of(phrase.head))
        else:
            verb = self.random.choice(WITH_PERSON)
            object = self.noun_phrase(verb, PEOPLE, "accusative")
            case = "nominative"
            sees, sieht = linked(english_present(verb, phrase), german_finite(verb.german, phrase))
            english, german = [sees, *object.english], [*object.german, sieht]
            self.relate("subject", key_of(sees), key_of(phrase.head))
            self.relate("object", key_of(sees), key_of(object.head))
        self.combinations.add((verb.german[0], phrase.noun.german))
        that, der = linked("that", DER[case][form])
        phrase.english += [that, *english]
        phrase.german += [",", der, *german, ","]


def written(words, end):
    """Joins words into a sentence: adds a capital letter and an end mark, and fixes commas."""
    text = " ".join([*words, end]).replace(" ,", ",").replace(",,", ",")
    text = text.replace(f", {end}", end).replace(f" {end}", end)
    return text[0].upper() + text[1:]


def held_out(combination):
    """Returns whether a combination of verb and noun is reserved for the test split."""
    return zlib.crc32(" ".join(combination).encode()) % ONE_IN == 0


def aligned_sentences(split="train", seed=0):
    """Yields an unlimited number of triples (English, German, alignment).

    The alignment consists of pairs of word indices in Pharaoh format: `1-2` is a sure link, and
    `1p2` is a possible link. Words are separated by spaces.

    Args:
        split: "train" or "test". Every pair of "test" has a combination of verb and noun that no
            pair of "train" has.
        seed: random seed.
    """
    if split not in SPLITS:
        raise ValueError(f"`split` must be one of {SPLITS}. Received: split={split!r}")
    choices = random.Random(f"{split} {seed}")
    while True:
        sentence = Sentence(choices)
        pair = sentence.make()
        if any(map(held_out, sentence.combinations)) == (split == "test"):
            yield *pair, sentence.alignment


def sentences(split="train", seed=0):
    """Yields the (English, German) pairs of `aligned_sentences`."""
    return ((english, german) for english, german, _ in aligned_sentences(split, seed))


def pairs(count, split="train", seed=0):
    """Returns the first `count` pairs of `sentences` as a list."""
    return list(itertools.islice(sentences(split, seed), count))
