"""The corpora are those of earlier versions, because runs of different versions are compared."""

import hashlib
from itertools import islice

import pytest

from pipelines.toy.documents import documents as toy_documents
from pipelines.toy.grammar import aligned_sentences


def documents(split, seed):
    return toy_documents(60, split, seed, shortest=20 if seed else None)


CORPORA = [
    (aligned_sentences, "train", 0, 300, "c7e4f57a4f651cd3"),
    (aligned_sentences, "test", 5, 300, "2d6cc08440a32464"),
    (documents, "train", 0, 20, "f471d5e7b3956c84"),
    (documents, "test", 1, 20, "16dfdddb1a95b9eb"),
]


@pytest.mark.parametrize(("corpus", "kind", "seed", "count", "digest"), CORPORA)
def test_a_corpus_is_that_of_earlier_versions(corpus, kind, seed, count, digest):
    examples = repr(list(islice(corpus(kind, seed), count)))
    assert hashlib.blake2b(examples.encode(), digest_size=8).hexdigest() == digest
