"""The corpora are those of earlier versions, because runs of different versions are compared."""

import hashlib
from itertools import islice

import pytest

from pipelines.glossaries.glossary import Glossary
from pipelines.toy.documents import annotated_documents
from pipelines.toy.grammar import aligned_sentences
from pipelines.toy.terms import KINDS, glossary_of, sentences_with_terms, terms_of


def documents(split, seed):
    return annotated_documents(60, split, seed, shortest=20 if seed else None)


def sentences_with(kind, seed):
    return sentences_with_terms(terms_of(kind), seed)


CORPORA = [
    (aligned_sentences, "train", 0, 300, "c7e4f57a4f651cd3"),
    (aligned_sentences, "test", 5, 300, "2d6cc08440a32464"),
    (documents, "train", 0, 20, "f471d5e7b3956c84"),
    (documents, "test", 1, 20, "16dfdddb1a95b9eb"),
    (sentences_with, "same gender", 0, 20, "917668d13d2b1e4d"),
    (sentences_with, "new word", 0, 20, "a58ac82e10a49f34"),
    (sentences_with, "other gender", 0, 20, "d99948230a2cf4ec"),
]


@pytest.mark.parametrize(("corpus", "kind", "seed", "count", "digest"), CORPORA)
def test_a_corpus_is_that_of_earlier_versions(corpus, kind, seed, count, digest):
    examples = repr(list(islice(corpus(kind, seed), count)))
    assert hashlib.blake2b(examples.encode(), digest_size=8).hexdigest() == digest


@pytest.mark.parametrize("kind", KINDS)
def test_references_have_the_terms_of_the_glossary_where_they_are_said_to_be(kind):
    terms = terms_of(kind)
    glossary = Glossary(glossary_of(terms))
    for case in islice(sentences_with_terms(terms), 100):
        found = [each.term for each in case.occurrences]
        assert sorted(found) == sorted(glossary.targets_in(case.source))
        words = [word.strip(".,?") for word in case.reference.split()]
        assert [words[each.place] for each in case.occurrences] == found
        assert all(each.replaced != each.term for each in case.occurrences)
    genders = [noun.gender == term.gender for noun, term in terms.items()]
    assert len(terms) == 14 and set(genders) == {kind != "other gender"}
