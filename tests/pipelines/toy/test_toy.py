"""The corpora are those of earlier versions, because runs of different versions are compared."""

import hashlib
from itertools import islice

import pytest

from pipelines.toy.documents import annotated_documents
from pipelines.toy.grammar import aligned_sentences
from pipelines.toy.terms import sentences_with_terms, terms_of


def documents_of_60_words(split, seed):
    return annotated_documents(60, split, seed)


def documents_of_20_to_60_words(split, seed):
    return annotated_documents(60, split, seed, shortest=20)


def sentences_with_terms_of(kind, seed):
    return sentences_with_terms(terms_of(kind), seed)


CORPORA = [
    (aligned_sentences, "train", 0, 300, "c7e4f57a4f651cd3"),
    (aligned_sentences, "test", 5, 300, "2d6cc08440a32464"),
    (documents_of_60_words, "train", 0, 20, "f471d5e7b3956c84"),
    (documents_of_20_to_60_words, "test", 1, 20, "16dfdddb1a95b9eb"),
    (sentences_with_terms_of, "same gender", 0, 20, "917668d13d2b1e4d"),
    (sentences_with_terms_of, "new word", 0, 20, "a58ac82e10a49f34"),
    (sentences_with_terms_of, "other gender", 0, 20, "d99948230a2cf4ec"),
]


@pytest.mark.parametrize(("corpus", "kind", "seed", "count", "digest"), CORPORA)
def test_a_corpus_is_that_of_earlier_versions(corpus, kind, seed, count, digest):
    examples = repr(list(islice(corpus(kind, seed), count)))
    assert hashlib.blake2b(examples.encode(), digest_size=8).hexdigest() == digest
