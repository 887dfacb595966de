"""A toy corpus of documents: sentences of the toy grammar with references between them.

A sentence that mentions a single thing may be followed by a reference to it: "We found a lamp. It
is old." The English pronoun is always "it". The German pronoun has the gender of the noun in the
previous sentence: "Sie ist alt." So the sentence with the pronoun cannot be translated alone.
"""

import itertools
import random
from typing import NamedTuple

from pipelines.text.sources import SourceError
from pipelines.toy.clause import english_present, german_finite
from pipelines.toy.grammar import LANGUAGES, SPLITS, Sentence, held_out, written
from pipelines.toy.links import Relation, key_of, linked, word_places
from pipelines.toy.words import ADJECTIVES, IT, THINGS, WITH_THING

REFERENCES = 0.7  # share of sentences with a single thing that are followed by a reference
UNINFLECTED = {**ADJECTIVES, "expensive": "teuer"}


class Document(NamedTuple):
    """A document in both languages, with the structure of its words.

    Args:
        english, german: the texts.
        relations: the `Relation`s between the English words.
        pronouns: a `Pronoun` for each reference.
    """

    english: str
    german: str
    relations: list
    pronouns: list


class Pronoun(NamedTuple):
    """The German pronoun of a reference.

    Args:
        place: index of the German word.
        forms: {gender: the word in that gender}, with the capital letter and the full stop that it
            has in the document.
        gender: gender of its antecedent, "m", "f" or "n".
    """

    place: int
    forms: dict
    gender: str

    def moved(self, words):
        """Returns the pronoun of a document with `words` more German words in front."""
        return self._replace(place=self.place + words)


def documents(words, split="train", seed=0, shortest=None):
    """Yields an unlimited number of (English, German) documents, each on one line.

    For the arguments, see `annotated_documents`.
    """
    for document in annotated_documents(words, split, seed, shortest):
        yield document.english, document.german


def annotated_documents(words, split="train", seed=0, shortest=None):
    """Yields an unlimited number of `Document`s.

    Args:
        words: minimum number of English words. A document ends with the sentence that reaches this
            number.
        split: see `grammar.aligned_sentences`; all sentences of a document belong to this split.
        seed: random seed.
        shortest: if given, each document gets a random minimum from `shortest` to `words`. Each
            doubling of the length has the same share of the words.
    """
    if split not in SPLITS:
        raise ValueError(f"`split` must be one of {SPLITS}. Received: split={split!r}")
    choices = random.Random(f"documents {split} {seed}")
    while True:
        length = words
        if shortest is not None:
            length = 1 / choices.uniform(1 / words, 1 / shortest)
        yield annotated_document(choices, split, length)


def annotated_document(choices, split, length):
    """Returns a `Document` of at least `length` English words."""
    english, german, relations, pronouns = [], [], [], []
    while len(english) < length:
        sentence = Sentence(choices)
        source, target = sentence.make()
        if any(map(held_out, sentence.combinations)) != (split == "test"):
            continue
        start = len(english)
        relations += [relation.moved(start) for relation in sentence.relations()]
        english += source.split()
        german += target.split()
        if (thing := only_thing(sentence)) and choices.random() < REFERENCES:
            source, target, it, pronoun, inner = reference(choices, split, thing.noun)
            relations += [relation.moved(len(english)) for relation in inner]
            antecedent = start + sentence.places[key_of(thing.head)]
            relations.append(Relation("antecedent", len(english) + it, antecedent))
            pronouns.append(pronoun.moved(len(german)))
            english += source.split()
            german += target.split()
    return Document(" ".join(english), " ".join(german), relations, pronouns)


def only_thing(sentence):
    """Returns the phrase of the only thing that "it" can refer to after a sentence, or None."""
    things = [phrase for phrase in sentence.phrases if phrase.noun in THINGS]
    return things[0] if len(things) == 1 and not things[0].plural else None


def reference(choices, split, thing):
    """Returns a sentence that refers to a thing as "it".

    Returns:
        The English and the German sentence, the index of "it", the `Pronoun` and the other
        `Relation`s of the English words.
    """
    while True:
        sentence = Sentence(choices)
        if is_nominative := sentence.chance(0.5):
            adjective = choices.choice(sorted(UNINFLECTED))
            english = ["it", "is", adjective]
            german = [IT["nominative"][thing.gender], "ist", UNINFLECTED[adjective]]
        else:
            verb = choices.choice(WITH_THING)
            subject = sentence.subject(verb)
            sentence.combinations.add((verb.german[0], thing.german))
            sees, sieht = linked(
                english_present(verb, subject), german_finite(verb.german, subject)
            )
            it, es = linked("it", IT["accusative"][thing.gender])
            english, german = [*subject.english, sees, it], [*subject.german, sieht, es]
            sentence.relate("subject", key_of(sees), key_of(subject.head))
            sentence.relate("object", key_of(sees), key_of(it))
        if split == "test" or not any(map(held_out, sentence.combinations)):
            break
    source, target = written(english, "."), written(german, ".")
    if is_nominative:
        forms = {gender: form.title() for gender, form in IT["nominative"].items()}
        return source, target, 0, Pronoun(0, forms, thing.gender), []
    sentence.places = word_places(english)
    forms = {gender: f"{form}." for gender, form in IT["accusative"].items()}
    it = len(source.split()) - 1
    return (
        source,
        target,
        it,
        Pronoun(len(target.split()) - 1, forms, thing.gender),
        sentence.relations(),
    )


class ToyDocuments:
    """A source of toy documents.

    Args:
        count: number of documents.
        words: number of words of the longest documents, see `documents`.
        split, seed, shortest: see `documents`.
    """

    def __init__(self, count, words, split="train", seed=0, shortest=None):
        if (shortest or 1) > words:
            raise SourceError(
                f"The shortest toy documents must have at most words={words} words. Received: "
                f"shortest={shortest}"
            )
        if split not in SPLITS:
            raise SourceError(
                f"Toy documents have the splits {' and '.join(SPLITS)}. Received: split={split!r}"
            )
        self.settings = {"words": words, "split": split, "seed": seed, "shortest": shortest}
        self.count = count
        self.languages = LANGUAGES

    def __iter__(self):
        for pair in itertools.islice(documents(**self.settings), self.count):
            yield tuple(text.encode() for text in pair)

    def fingerprint(self):
        """Returns the settings that determine the text."""
        return {"toy documents": {"count": self.count, **self.settings}}
