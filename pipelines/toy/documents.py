"""A toy corpus of documents: sentences of the toy grammar with references between them.

A sentence that mentions a single thing may be followed by a reference to it: "We found a lamp. It
is old." The English pronoun is always "it". The German pronoun has the gender of the noun in the
previous sentence: "Sie ist alt." So the sentence with the pronoun cannot be translated alone.
"""

import itertools
import random
from typing import NamedTuple

from pipelines.checks import SourceError, check_value
from pipelines.toy import lexicon
from pipelines.toy.grammar import LANGUAGES, SPLITS, Sentence, generated, has_held_out
from pipelines.toy.links import Linked, linked, placed

REFERENCES = 0.7  # share of sentences with a single thing that are followed by a reference


class Relation(NamedTuple):
    """A relation between two words of a text.

    Args:
        kind: "determiner" (from a determiner to its noun), "subject" or "object" (from a verb to
            the noun or pronoun that is its subject or its accusative object), or "antecedent"
            (from "it" to the noun in an earlier sentence).
        start, end: indices of the words.
    """

    kind: str
    start: int
    end: int


class Pronoun(NamedTuple):
    """The German pronoun of a reference."""

    place: int  # index of the German word
    forms: dict  # {gender: the word in that gender}, with its capital letter or full stop
    gender: str  # gender of its antecedent, "m", "f" or "n"


class Document(NamedTuple):
    """A document in both languages, with the structure of its words."""

    english: str
    german: str
    relations: list  # the `Relation`s between the English words
    pronouns: list  # a `Pronoun` for each reference


def documents(words, split="train", seed=0, shortest=None):
    """Yields an unlimited number of `Document`s, each text on one line.

    Args:
        words: minimum number of English words. A document ends with the sentence that reaches this
            number.
        split: see `grammar.aligned_sentences`; all sentences of a document belong to this split.
        seed: random seed.
        shortest: if given, each document gets a random minimum from `shortest` to `words`. Each
            doubling of the length has the same share of the words.
    """
    choices = random.Random(f"documents {split} {seed}")
    sentences = generated(choices, split)
    while True:
        length = words if shortest is None else 1 / choices.uniform(1 / words, 1 / shortest)
        yield document_of(sentences, choices, split, length)


def document_of(sentences, choices, split, length):
    """Returns a `Document` of at least `length` English words."""
    english, german, linked_words, related, pronouns = [], [], [], [], []

    def add(sentence, texts):
        english.extend(texts[0].split())
        german.extend(texts[1].split())
        linked_words.extend(sentence.english)
        related.extend(sentence.related)

    while len(english) < length:
        sentence, texts = next(sentences)
        add(sentence, texts)
        # "It" can refer to the only thing in a sentence.
        things = [phrase for phrase in sentence.phrases if phrase.noun in lexicon.THINGS]
        if len(things) == 1 and not things[0].plural and choices.random() < REFERENCES:
            gender, place = things[0].noun.gender, len(german)
            reference, it = reference_to(things[0].noun, choices, split)
            reference.relate("antecedent", it, things[0].head)
            add(reference, reference.texts())
            if it is reference.english[0]:
                forms = {gender: form.title() for gender, form in lexicon.IT["nominative"].items()}
            else:
                place = len(german) - 1
                forms = {gender: f"{form}." for gender, form in lexicon.IT["accusative"].items()}
            pronouns.append(Pronoun(place, forms, gender))
    places = {}  # {key of a meaning: index of the first word that expresses it}
    for indices, word in placed(linked_words):
        for key in word.sure:
            places.setdefault(key, indices[0])
    relations = [Relation(kind, places[start], places[end]) for kind, start, end in related]
    return Document(" ".join(english), " ".join(german), relations, pronouns)


def reference_to(thing, choices, split):
    """Returns a `Sentence` that refers to a thing, and its word "it"."""
    while True:
        sentence = Sentence(choices)
        case = "nominative" if sentence.chance(0.5) else "accusative"
        it, es = linked("it", lexicon.IT[case][thing.gender])
        if case == "nominative":
            adjective = choices.choice(sorted(lexicon.UNINFLECTED))
            sentence.english = [it, Linked("is"), Linked(adjective)]
            sentence.german = [es, Linked("ist"), Linked(lexicon.UNINFLECTED[adjective])]
        else:
            verb = choices.choice(lexicon.WITH_THING)
            subject = sentence.subject(verb)
            sentence.combinations.add((verb.german[0], thing.german))
            sees, sieht = sentence.present(verb, subject, it)
            sentence.english = [*subject.english, sees, it]
            sentence.german = [*subject.german, sieht, es]
        if split == "test" or not has_held_out(sentence):
            return sentence, it


class ToyDocuments:
    """A source of toy documents.

    Args:
        count: number of documents.
        words: number of words of the longest documents, see `documents`.
        split, seed, shortest: see `documents`.
    """

    languages = LANGUAGES

    def __init__(self, count, words, split="train", seed=0, shortest=None):
        if (shortest or 1) > words:
            raise SourceError(
                f"The shortest toy documents must have at most words={words} words. Received: "
                f"shortest={shortest}"
            )
        check_value("split", split, str, choices=SPLITS)
        self.settings = {"words": words, "split": split, "seed": seed, "shortest": shortest}
        self.count = count

    def __iter__(self):
        for english, german, *_ in itertools.islice(documents(**self.settings), self.count):
            yield english.encode(), german.encode()

    def fingerprint(self):
        """Returns the settings that determine the text."""
        return {"toy documents": {"count": self.count, **self.settings}}
