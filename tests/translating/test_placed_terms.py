"""Terms of glossaries in translations by an engine that writes the source's words in capitals."""

import numpy as np
import pytest
from support.models.fake_engine import FakeEngine, fake_translator, searches

from t2t_keras.translating.request import Request
from t2t_keras.translating.translator import Translator


class Certain(FakeEngine):
    """Its probabilities do not depend on the source."""

    def log_p(self, source, target):
        return np.zeros(target.shape)


class WithoutAttention(FakeEngine):
    has_attention = False


@pytest.mark.parametrize(
    ("text", "glossary", "expected"),
    [
        ("the dog sees", {"dog": "Hund"}, "THE Hund SEES"),
        ("dog", {"dog": "guter Hund"}, "guter Hund"),
        ("Dog, dogs; dog!", {"dog": "Hund", "dogs": "Hunde"}, "Hund, Hunde; Hund!"),
        ("a big red dog runs", {"big red dog": "Hund"}, "A Hund RUNS"),
        ("a dog runs on", {"dog runs": "x", "on": "y z"}, "A x y z"),
        ("the dog and the cat", {"dog": "Katze", "cat": "Hund"}, "THE Katze AND THE Hund"),
        ("the dog", {"dog": "DOG"}, "THE DOG"),
        ("dog cat", {"dog": "CAT"}, "CAT CAT"),
    ],
)
def test_a_term_replaces_the_words_that_translate_its_source_words(text, glossary, expected):
    translator = fake_translator(beam=1)
    assert translator.translate([text], glossary=glossary) == [expected]
    (rows,) = searches(translator)
    assert rows.phrases is None, "no search for phrases is needed"


def test_scores_are_those_of_the_model_and_lists_have_the_best_first():
    translator = Translator(WithoutAttention())
    (found,) = translator.translations(["the big dog"], glossary={"dog": "Hund"}, n_best=2)
    assert [each.text for each in found] == ["THE BIG Hund", "Hund BIG THE"]
    assert [each.score for each in found] == sorted([each.score for each in found])[::-1]
    for each in found:
        ((source, target),) = each.parts
        (log_p,) = translator.engine.log_p(source[None], target[None])
        penalty = translator.engine.config.length_penalty(float(len(target)))
        assert each.score == pytest.approx(log_p.sum() / penalty)


def test_the_sentences_of_a_text_without_terms_are_searched_as_if_there_were_no_glossary():
    translator = fake_translator()
    translator.translate(["A dog. Two cats. A cat."], glossary={"dog": "Hund"})
    sentences = [
        ["".join(map(chr, row[row > 32])) for row in rows.source] for rows in searches(translator)
    ]
    assert sentences == [["Twocats.", "Acat."], ["Adog."]]


def test_a_term_without_a_clear_place_is_searched_for():
    translator = Translator(Certain())
    assert translator.translate(["the dog"], glossary={"dog": "Hund"}) == ["THE DOG Hund"]
    assert [rows.phrases is not None for rows in searches(translator)] == [False, True]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"prefix": "Ein"}, "Ein THE Hund RUNS"),
        ({"prefix": "THE Hund"}, "THE Hund THE Hund RUNS"),
        ({"require": ["Vogel"]}, "THE Hund RUNS Vogel"),
        ({"require": ["Hund"]}, "THE Hund RUNS"),
        ({"no_repeat_ngram": 1}, "THE Hund RUNS"),
    ],
)
def test_terms_combine_with_other_options(options, expected):
    request = Request("the dog runs", glossary={"dog": "Hund"}, **options)
    assert Translator(WithoutAttention()).translate(request) == expected


def test_lists_are_filled_with_translations_that_the_search_for_phrases_finds():
    (found,) = fake_translator().translations(["dog"], glossary={"dog": "Hund"}, n_best=2)
    assert [each.text for each in found] == ["Hund", "DOG Hund"]


def test_a_translation_with_terms_is_not_longer_than_the_model_writes():
    translator = Translator(FakeEngine(longest=12))
    (found,) = translator.translate(["a b c d"], glossary={"d": "Hunde"}, split="off")
    assert "Hunde" in found and len(searches(translator)) == 2


def test_long_parts_are_not_aligned_on_a_server():
    translator = Translator(FakeEngine(), longest_aligned=12)
    found = translator.translate(["a dog", "a very very long dog"], glossary={"dog": "Hund"})
    assert found == ["A Hund", "A VERY VERY LONG DOG Hund"]
