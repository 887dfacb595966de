import itertools

import pytest

from pipelines.glossaries.glossary import Glossary
from pipelines.toy.terms import KINDS, glossary_of, sentences_with_terms, terms_of


@pytest.mark.parametrize("kind", KINDS)
def test_references_have_the_terms_of_the_glossary_where_they_are_said_to_be(kind):
    terms = terms_of(kind)
    glossary = Glossary(glossary_of(terms))
    for case in itertools.islice(sentences_with_terms(terms), 100):
        found = [each.term for each in case.occurrences]
        assert sorted(found) == sorted(glossary.targets_in(case.source))
        words = [word.strip(".,?") for word in case.reference.split()]
        assert [words[each.place] for each in case.occurrences] == found
        assert all(each.replaced != each.term for each in case.occurrences)
    genders = [noun.gender == term.gender for noun, term in terms.items()]
    assert len(terms) == 14 and set(genders) == {kind != "other gender"}
