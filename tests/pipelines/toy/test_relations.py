"""Relations between English words: each leads from the right kind of word to the right one."""

import random
import re

import pytest

from pipelines.toy.grammar import Sentence
from pipelines.toy.relations import KINDS, Relation
from pipelines.toy.words import PEOPLE, PRONOUNS, THINGS

DETERMINERS = {"the", "a", "an", "this", "these", "my", "your", "our"}
SUBJECTS = {pronoun for pronoun, *_ in PRONOUNS}
NOUNS = {form for noun in PEOPLE + THINGS for form in (noun.english, noun.english_plural)}
PREPOSITIONS = {"in", "on", "at"}


def words_of(text):
    return [re.sub(r"[.,?]", "", word).lower() for word in text.split()]


@pytest.fixture(scope="module")
def sentences():
    """Returns (words, relations) of many sentences."""
    choices, found = random.Random(1), []
    for _ in range(600):
        sentence = Sentence(choices)
        english, _ = sentence.make()
        found.append((words_of(english), sentence.relations()))
    return found


def test_the_kinds_are_known_and_words_are_of_the_right_class(sentences):
    for words, relations in sentences:
        for kind, start, end in relations:
            assert kind in KINDS and start != end
            if kind == "determiner":
                assert words[start] in DETERMINERS and words[end] in NOUNS
                assert end - start in (1, 2)
            elif kind == "object":
                assert words[end] in NOUNS and words[start] not in NOUNS
            else:
                assert words[end] in NOUNS | {word.lower() for word in SUBJECTS}


def test_every_determiner_has_its_noun_and_every_noun_a_verb(sentences):
    for words, relations in sentences:
        starts = {start for kind, start, _ in relations if kind == "determiner"}
        determiners = {i for i, word in enumerate(words) if word in DETERMINERS}
        # "in the garden" is one unit, and its noun is no noun of the grammar.
        assert starts == {i for i in determiners if i == 0 or words[i - 1] not in PREPOSITIONS}
        ends = {end for kind, _, end in relations if kind != "determiner"}
        datives = {i for i, word in enumerate(words) if word in NOUNS} - ends
        assert len(datives) <= 2, words


def test_relative_clauses_put_the_subject_far_from_its_verb(sentences):
    distances = {"subject": [], "object": [], "determiner": []}
    for _, relations in sentences:
        for kind, start, end in relations:
            distances[kind].append(start - end)
    assert distances["subject"].count(1) > 400
    assert max(distances["subject"]) >= 6
    # "the picture that the bird forgets": the object of the inner verb is before it.
    assert max(distances["object"]) > 0
    assert Relation("object", 1, 4).moved(10) == Relation("object", 11, 14)
