import numpy as np
import pytest
from support.models.fake_engine import LetterTokenizer

from pipelines.glossaries.glossary import Glossary
from t2t_keras.translating.terms import contains, occurrences, terms_of, units_of

LETTERS = LetterTokenizer()


def ids_of(text):
    return LETTERS.encode([text])[0]


def written(ids):
    return LETTERS.decode([ids])[0]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a dog, cats", {"dog": ["dog"], "cats": ["cats"]}),
        ("the red  house.", {"red house": ["red", " house"]}),
        ("dog-house", {"dog": ["dog"], "house": ["house"]}),
        (">>de<< dog", {"dog": ["dog"]}),
        ("no", {}),
    ],
)
def test_a_term_has_the_pieces_of_its_source_words(text, terms):
    glossary = Glossary({term: term.upper() for term in terms})
    ids = ids_of(text)
    _, sentence = LETTERS.split_code(text)
    matches = glossary.matches_in(sentence)
    found = terms_of(ids, matches, LETTERS, lambda target: [*map(ord, target)])
    assert [written(term.ids) for term in found] == [term.upper() for term in terms]
    words = [["".join(chr(ids[i]) for i in word) for word in term.words] for term in found]
    assert words == [*terms.values()]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Ein Hund.", [[" Ein", " Hund"]]),
        ("Ein „Hund“, ja (ja)", [[" Ein"], ["Hund"], [" ja"], ["ja"]]),
        ("T-Shirt – neu", [[" T-Shirt"], [" neu"]]),
        ("ひがです。", [["ひ", "が", "で", "す"]]),
        ("...", []),
        ("", []),
    ],
)
def test_the_units_of_a_translation_are_its_words_without_punctuation(text, units):
    ids, found = ids_of(text), {}
    for unit in units_of(LETTERS, ids):
        text = "".join(map(chr, ids[unit.start : unit.stop]))
        found.setdefault(unit.stretch, []).append(text)
    assert [*found.values()] == units


def test_occurrences_are_whole_words_without_overlap():
    ids, phrase = ids_of("ab abab ab, ab ab ab"), [*map(ord, " ab")]
    ends = LETTERS.ends_phrase(ids)
    assert len(occurrences(ids, phrase, ends)) == 5
    twice = [*map(ord, " ab ab")]
    assert occurrences(ids, twice, ends) == [(12, 18)]
    assert contains(ids, [twice, phrase, phrase], ends) and not contains(ids, [twice] * 2, ends)
    assert contains(np.array([], int), [], np.array([], bool))
