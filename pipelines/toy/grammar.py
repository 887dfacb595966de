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

from pipelines.checks import check_value
from pipelines.toy import lexicon
from pipelines.toy.clause import Clause
from pipelines.toy.links import alignment, key_of, linked

LANGUAGES = ("en", "de")
SPLITS = ("train", "test")
ONE_IN = 10  # one in ten combinations of verb and noun is reserved for the test split


@dataclasses.dataclass
class Phrase:
    """A noun phrase in both languages, with the features that other words agree with."""

    english: list
    german: list
    head: str  # the English noun or pronoun, a `Linked` word
    person: int = 2  # 0: I, 1: you, 2: he, she, it
    plural: bool = False
    definite: bool = True
    noun: lexicon.Noun | None = None

    @property
    def third(self):
        """Whether it is a singular in the third person."""
        return self.person == 2 and not self.plural

    def finite(self, forms):
        """Returns the German verb form (plural, I, you, he) that agrees with this subject."""
        return forms[0 if self.plural else 1 + self.person]


class Sentence:
    """A sentence pair that is being generated.

    Args:
        random: a `random.Random`.

    Attributes:
        combinations: the (German verb, German noun) combinations that the sentence contains.
        phrases: the noun phrases that the sentence contains.
        related: (kind, key of the word at the start, key of the word at the end) of the relations
            between English words; see `Relation`.
        english, german: the `Linked` words, after `make`.
        terms: {noun: the `Noun` whose German forms and gender are used instead}.
    """

    terms = MappingProxyType({})

    def __init__(self, random):
        self.random, self.combinations, self.phrases, self.related = random, set(), [], []

    def chance(self, probability):
        return self.random.random() < probability

    def relate(self, kind, start, end):
        """Records a relation between two English `Linked` words."""
        self.related.append((kind, key_of(start), key_of(end)))

    def make(self):
        """Generates the sentence and returns it as (English, German)."""
        kinds = [self.statement, self.question, self.two_clauses, self.reported]
        kind = self.random.choices(kinds, weights=[6, 1, 2, 2])[0]
        self.english, self.german = kind()
        return self.texts("?" if kind == self.question else ".")

    def texts(self, end="."):
        return written(self.english, end), written(self.german, end)

    def statement(self):
        clause = Clause(self)
        in_front = clause.time[0] and self.chance(0.5)
        return clause.english(in_front), clause.german_main(in_front)

    def question(self):
        clause = Clause(self)
        return clause.english_question(), clause.german_question()

    def reported(self):
        """Returns a sentence such as "The man knows that …", as English and German words."""
        verb = self.random.choice(lexicon.WITH_CLAUSE)
        subject = self.subject(verb)
        inner = Clause(self)
        knows, weiß = self.present(verb, subject)
        that, dass = linked("that", "dass")
        english = [*subject.english, knows, that, *inner.english()]
        return english, [*subject.german, weiß, ",", dass, *inner.german_subordinate()]

    def two_clauses(self):
        main = Clause(self)
        other = Clause(self, with_tense=main.tense)
        conjunction = self.random.choice(sorted(lexicon.CONJUNCTIONS))
        german = lexicon.CONJUNCTIONS[conjunction]
        if conjunction == "when" and other.tense == "past":
            german = "als"
        conjunction, german = linked(conjunction, german)
        english = [conjunction, *other.english()]
        german = [german, *other.german_subordinate()]
        if self.chance(0.5):
            return [*main.english(), *english], [*main.german_main(), ",", *german]
        # A clause in front takes the first place, so the German verb follows immediately.
        return [*english, ",", *main.english()], [*german, ",", *main.german_question()]

    def present(self, verb, subject, object=None):
        """Returns the present of a verb in both languages. `object` is an English `Linked` word."""
        sees, sieht = linked(verb.english[subject.third], subject.finite(verb.german))
        self.relate("subject", sees, subject.head)
        if object:
            self.relate("object", sees, object)
        return sees, sieht

    def subject(self, verb, relative=False):
        if self.chance(0.25):
            english, german, person, plural = self.random.choice(lexicon.PRONOUNS)
            english, german = linked(english, german)
            return Phrase([english], [german], english, person, plural)
        return self.noun_phrase(verb, lexicon.PEOPLE, "nominative", relative and self.chance(0.12))

    def noun_phrase(self, verb, nouns, case, relative=False):
        """Returns a determiner and a noun, perhaps with an adjective and a relative clause."""
        noun, plural = self.random.choice(nouns), self.chance(0.3)
        self.combinations.add((verb.german[0], noun.german))
        term = self.terms.get(noun, noun)
        form = "p" if plural else term.gender
        german_noun = term.german_plural if plural else term.german
        if plural and case == "dative" and german_noun[-1] not in "ns":
            german_noun += "n"
        words = [(noun.english_plural if plural else noun.english, german_noun)]
        adjective = None
        if self.chance(0.4):
            of_people = nouns is lexicon.PEOPLE
            adjective = self.random.choice(
                lexicon.OF_PEOPLE if of_people else sorted(lexicon.ADJECTIVES)
            )
        determiner = self.random.choices([*lexicon.DETERMINERS], weights=[8, 6, 2, 2, 1, 1])[0]
        stem, articles, endings = lexicon.DETERMINERS[determiner]
        is_bare = determiner == "a" and plural
        if adjective:
            ending = (lexicon.STRONG if is_bare else endings)[case][form]
            words.insert(0, (adjective, lexicon.ADJECTIVES[adjective] + ending))
        if not is_bare:
            english = "these" if determiner == "this" and plural else determiner
            english += "n" * (determiner == "a" and words[0][0][0] in "aeiou")
            words.insert(0, (english, stem + articles[case][form]))
        english, german = map(list, zip(*(linked(*pair) for pair in words), strict=True))
        phrase = Phrase(english, german, english[-1], 2, plural, determiner != "a", noun)
        if not is_bare:
            self.relate("determiner", english[0], phrase.head)
        self.phrases.append(phrase)
        if relative:
            self.add_relative_clause(phrase, form)
        return phrase

    def add_relative_clause(self, phrase, form):
        """Adds a clause such as "that sees the cat" or "that the cat sees" to a noun phrase."""
        is_thing = phrase.noun in lexicon.THINGS
        if is_thing or self.chance(0.4):
            verb = self.random.choice(lexicon.WITH_THING if is_thing else lexicon.WITH_PERSON)
            subject, case = self.subject(verb), "accusative"
            sees, sieht = self.present(verb, subject, phrase.head)
            english, german = [*subject.english, sees], [*subject.german, sieht]
        else:
            verb = self.random.choice(lexicon.WITH_PERSON)
            object, case = self.noun_phrase(verb, lexicon.PEOPLE, "accusative"), "nominative"
            sees, sieht = self.present(verb, phrase, object.head)
            english, german = [sees, *object.english], [*object.german, sieht]
        self.combinations.add((verb.german[0], phrase.noun.german))
        that, der = linked("that", lexicon.DER[case][form])
        phrase.english += [that, *english]
        phrase.german += [",", der, *german, ","]


def written(words, end):
    """Joins words into a sentence: adds a capital letter and an end mark, and fixes commas."""
    text = " ".join([*words, end]).replace(" ,", ",").replace(",,", ",")
    text = text.replace(f", {end}", end).replace(f" {end}", end)
    return text[0].upper() + text[1:]


def has_held_out(sentence):
    """Returns whether it has a combination of verb and noun that is reserved for the test split."""
    texts = map(" ".join, sentence.combinations)
    return any(zlib.crc32(text.encode()) % ONE_IN == 0 for text in texts)


def generated(choices, split):
    """Yields an unlimited number of `Sentence`s of a split, with their two texts."""
    check_value("split", split, str, choices=SPLITS)
    while True:
        sentence = Sentence(choices)
        texts = sentence.make()
        if has_held_out(sentence) == (split == "test"):
            yield sentence, texts


def aligned_sentences(split="train", seed=0):
    """Yields an unlimited number of triples (English, German, alignment).

    The alignment consists of pairs of word indices in Pharaoh format: `1-2` is a sure link, and
    `1p2` is a possible link. Words are separated by spaces.

    Args:
        split: "train" or "test". Every pair of "test" has a combination of verb and noun that no
            pair of "train" has.
        seed: random seed.
    """
    for sentence, texts in generated(random.Random(f"{split} {seed}"), split):
        yield *texts, alignment(sentence.english, sentence.german)


def sentences(split="train", seed=0):
    """Yields the (English, German) pairs of `aligned_sentences`."""
    return (texts for _, texts in generated(random.Random(f"{split} {seed}"), split))


def pairs(count, split="train", seed=0):
    """Returns the first `count` pairs of `sentences` as a list."""
    return list(itertools.islice(sentences(split, seed), count))
