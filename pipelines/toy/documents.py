"""A toy corpus of documents: sentences of the toy grammar with references between them.

A sentence that mentions a single thing may be followed by a reference to it: "We found a lamp. It
is old." The English pronoun is always "it". The German pronoun has the gender of the noun in the
previous sentence: "Sie ist alt." So the sentence with the pronoun cannot be translated alone.
"""

import itertools
import random

from pipelines.text.sources import SourceError
from pipelines.toy.clause import english_present, german_finite
from pipelines.toy.grammar import LANGUAGES, SPLITS, Sentence, held_out, written
from pipelines.toy.words import ADJECTIVES, IT, THINGS, WITH_THING

REFERENCES = 0.7  # share of sentences with a single thing that are followed by a reference
UNINFLECTED = {**ADJECTIVES, "expensive": "teuer"}


def documents(words, split="train", seed=0, shortest=None):
    """Yields an unlimited number of (English, German) documents, each on one line.

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
        yield document(choices, split, length)


def document(choices, split, length):
    """Returns a document of at least `length` English words."""
    english, german, count = [], [], 0
    while count < length:
        sentence = Sentence(choices)
        pairs = [sentence.make()]
        if any(map(held_out, sentence.combinations)) != (split == "test"):
            continue
        if (thing := only_thing(sentence)) and choices.random() < REFERENCES:
            pairs.append(reference(choices, split, thing))
        for source, target in pairs:
            english.append(source)
            german.append(target)
            count += len(source.split())
    return " ".join(english), " ".join(german)


def only_thing(sentence):
    """Returns the only thing that "it" can refer to after a sentence, or None."""
    things = [phrase for phrase in sentence.phrases if phrase.noun in THINGS]
    return things[0].noun if len(things) == 1 and not things[0].plural else None


def reference(choices, split, thing):
    """Returns a sentence pair that refers to a thing as "it"."""
    while True:
        sentence = Sentence(choices)
        if sentence.chance(0.5):
            adjective = choices.choice(sorted(UNINFLECTED))
            english = ["it", "is", adjective]
            german = [IT["nominative"][thing.gender], "ist", UNINFLECTED[adjective]]
        else:
            verb = choices.choice(WITH_THING)
            subject = sentence.subject(verb)
            sentence.combinations.add((verb.german[0], thing.german))
            english = [*subject.english, english_present(verb, subject), "it"]
            accusative = IT["accusative"][thing.gender]
            german = [*subject.german, german_finite(verb.german, subject), accusative]
        if split == "test" or not any(map(held_out, sentence.combinations)):
            return written(english, "."), written(german, ".")


class ToyDocuments:
    """A source of toy documents.

    Args:
        count: number of documents.
        words: number of words of the longest documents, see `documents`.
        split, seed, shortest: see `documents`.
    """

    def __init__(self, count, words, split="train", seed=0, shortest=None):
        least = 1 if shortest is None else shortest
        for name, value in (("count", count), ("words", words), ("shortest", least)):
            if type(value) is not int or value < 1:
                raise SourceError(
                    f"Toy documents need a whole number of at least 1. Received: {name}={value!r}"
                )
        if least > words:
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
