import functools
import hashlib
import re
from itertools import islice

import pytest

from pipelines.toy.documents import ToyDocuments
from pipelines.toy.documents import documents as toy_documents
from pipelines.toy.grammar import aligned_sentences, pairs, sentences
from pipelines.toy.lexicon import THINGS


@functools.cache
def corpus():
    return pairs(2500)


def documents(split, seed):
    return toy_documents(60, split, seed, shortest=20 if seed else None)


@pytest.mark.parametrize(
    ("corpus", "kind", "seed", "count", "digest"),
    [
        (aligned_sentences, "train", 0, 300, "c7e4f57a4f651cd3"),
        (aligned_sentences, "test", 5, 300, "2d6cc08440a32464"),
        (documents, "train", 0, 20, "f471d5e7b3956c84"),
        (documents, "test", 1, 20, "16dfdddb1a95b9eb"),
    ],
)
def test_a_corpus_is_that_of_earlier_versions(corpus, kind, seed, count, digest):
    """Runs of different versions are compared on these corpora."""
    examples = repr(list(islice(corpus(kind, seed), count)))
    assert hashlib.blake2b(examples.encode(), digest_size=8).hexdigest() == digest


def test_sentences_rarely_repeat():
    assert pairs(200, seed=3) == list(islice(sentences(seed=3), 200)) != pairs(200, seed=4)
    assert len(set(corpus())) > 0.95 * len(corpus())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        # Gender and case of the article.
        (r"\b(das|die|eine) Hund\b", r"\b(der|den|dem) Hund\b"),
        (r"\b(der|den|dem|einen) Kind\b(?<!dem Kind)", r"\bdas Kind\b"),
        # The ending -n of the dative plural.
        (r"\bden Kinder\b", r"\bden Kindern\b"),
        # Adjective endings after "der", after "ein" and without a determiner.
        (r"\bein \w+e (Kind|Buch)\b", r"\bein \w+es (Kind|Buch)\b"),
        # The verb at the end of a subordinate clause.
        (r", (weil|dass|obwohl) (er|sie|ich|du|wir) (hat|habe|kann|will)\b", r", weil er .* hat"),
        # Agreement of verb and pronoun.
        (r"\b[Ii]ch (hat|hast|ist|kannst|willst)\b", r"\b[Ii]ch (habe|bin|kann|will)\b"),
        # The verb in second place.
        (r"^(Heute|Gestern|Jetzt) (der|die|das|ich|er|wir)\b", r"^(Heute|Gestern|Jetzt) \w+ "),
        # The perfect of verbs of motion, with "sein".
        (r"\b(hat|haben|habe|hast) (gekommen|gerannt)\b", r"\b(ist|sind|bin|bist) gerannt\b"),
        # English. The questions at the end of a text have an infinitive after the subject.
        (r"\b[Aa] (apple|old|expensive|umbrella)\b", r"\b[Aa]n (apple|old|expensive|umbrella)\b"),
        (r"\b(I|you|we|they) (sees|buys|wants|does)\b", r"\b(he|she|He|She) (buys|sees|wants)\b"),
        (r"\bthis (dogs|cats|books)\b", r"\b[Tt]hese (dogs|cats|books)\b"),
    ],
)
def test_both_languages_are_grammatical(wrong, right):
    texts = [text for pair in corpus() for text in pair]
    assert not [text for text in texts if re.search(wrong, text)]
    assert [text for text in texts if re.search(right, text)]


def test_sentences_have_a_capital_letter_and_an_end():
    for pair in corpus():
        for text in pair:
            assert text[0].isupper() and text[-1] in ".?"
            assert not re.search(r"  | [,.?]|,,|,[.?]|_", text)
        assert pair[0][-1] == pair[1][-1]
    with pytest.raises(ValueError, match=r"`split` must be one of .* Received: split='dev'"):
        pairs(1, split="dev")


def test_words_of_one_meaning_are_linked():
    expected = (
        "The bird found these small gifts in the garden.",
        "Der Vogel hat diese kleinen Geschenke im Garten gefunden.",
        "0-0 1-1 2p2 2-8 3-3 4-4 5-5 6-6 6p7 7p6 7p7 8p6 8-7",
    )
    assert expected in islice(aligned_sentences("test", 5), 500)


def test_a_document_knows_the_antecedents_of_its_pronouns_and_their_forms():
    genders, found = {thing.english: thing.gender for thing in THINGS}, 0
    for document in islice(toy_documents(60, "test"), 40):
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
    expected = islice(toy_documents(30, seed=5), 2)
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
