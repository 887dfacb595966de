import itertools
import re

import pytest

from pipelines.toy.documents import ToyDocuments, documents
from pipelines.toy.lexicon import THINGS


def test_a_document_knows_the_antecedents_of_its_pronouns_and_their_forms():
    genders, found = {thing.english: thing.gender for thing in THINGS}, 0
    for document in itertools.islice(documents(60, "test"), 40):
        english, german = document.english.split(), document.german.split()
        its = [i for i, word in enumerate(english) if re.fullmatch(r"it\.?", word, re.IGNORECASE)]
        links = {start: end for kind, start, end in document.relations if kind == "antecedent"}
        assert sorted(links) == its
        for pronoun, start in zip(document.pronouns, its, strict=True):
            thing = english[links[start]].strip(".,?")
            assert links[start] < start
            assert genders[thing] == pronoun.gender
            assert german[pronoun.place] == pronoun.forms[pronoun.gender]
            assert len(set(pronoun.forms.values())) == 3
            found += 1
    assert found > 20


def test_a_source_has_pairs_of_bytes_and_a_fingerprint_of_its_settings():
    source = ToyDocuments(count=2, words=30, seed=5)
    expected = itertools.islice(documents(30, seed=5), 2)
    assert list(source) == [tuple(text.encode() for text in pair[:2]) for pair in expected]
    fingerprints = [source.fingerprint()]
    for count, words, seed in ((2, 30, 6), (3, 30, 5), (2, 31, 5)):
        fingerprints.append(ToyDocuments(count, words, seed=seed).fingerprint())
    assert all(fingerprints.count(each) == 1 for each in fingerprints)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="at most words=30 words"):
        ToyDocuments(2, 30, shortest=31)
    with pytest.raises(ValueError, match="`split` must be one of 'train', 'test'"):
        ToyDocuments(2, 30, split="dev")
