"""Relations between English words: each leads from the right kind of word to the right one."""

import random
import re

from pipelines.toy.grammar import Sentence
from pipelines.toy.words import PEOPLE, PRONOUNS, THINGS

DETERMINERS = {"the", "a", "an", "this", "these", "my", "your", "our"}
SUBJECTS = {pronoun.lower() for pronoun, *_ in PRONOUNS}
NOUNS = {form for noun in PEOPLE + THINGS for form in (noun.english, noun.english_plural)}
PREPOSITIONS = {"in", "on", "at"}


def test_words_of_the_right_class_are_related_also_far_from_each_other():
    choices, subjects, objects = random.Random(1), [], []
    for _ in range(400):
        sentence = Sentence(choices)
        english, _ = sentence.make()
        words = [re.sub(r"[.,?]", "", word).lower() for word in english.split()]
        determined = set()
        for kind, start, end in sentence.relations():
            if kind == "determiner":
                assert words[start] in DETERMINERS and words[end] in NOUNS
                assert end - start in (1, 2)
                determined.add(start)
            elif kind == "object":
                assert words[end] in NOUNS and words[start] not in NOUNS
                objects.append(start - end)
            else:
                assert words[end] in NOUNS | SUBJECTS
                subjects.append(start - end)
        determiners = {i for i, word in enumerate(words) if word in DETERMINERS}
        # "in the garden" is one unit, and its noun is no noun of the grammar.
        assert determined == {i for i in determiners if i == 0 or words[i - 1] not in PREPOSITIONS}
    assert subjects.count(1) > 250 and max(subjects) >= 6
    # "the picture that the bird forgets": the object of the inner verb is before it.
    assert max(objects) > 0
