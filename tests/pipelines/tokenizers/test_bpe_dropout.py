import itertools
import re
from collections import Counter

import numpy as np
import pytest
from support.text.toy_tokenizers import TOY_TEXTS, UGLY_TEXTS, toy_tokenizer

from pipelines.tokenizers import bpe_dropout
from pipelines.tokenizers.bpe_dropout import BpeDropout, EncodingsConfig, refuse_other_kinds
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn


def new_random(seed=0):
    return np.random.default_rng(seed)


def normalized(tokenizer, texts):
    return [tokenizer.normalization(text) for text in texts]


def sentences(encodings):
    """Returns the ids of each text in each encoding."""
    return [each for ids, counts in encodings for each in np.split(ids, np.cumsum(counts)[:-1])]


@pytest.mark.parametrize("kind", ["bpe", "bpe without bytes"])
def test_without_dropout_the_ids_are_those_of_the_tokenizer(kind, monkeypatch):
    monkeypatch.setattr(bpe_dropout, "CELLS", 500)  # words are merged in several arrays
    tokenizer = toy_tokenizer(kind)
    texts = normalized(tokenizer, UGLY_TEXTS + TOY_TEXTS[:300])
    for ids, _ in BpeDropout(tokenizer, 0).encode(texts, new_random(), times=2):
        np.testing.assert_array_equal(ids, np.concatenate(tokenizer.encode(texts)))


def test_symbols_remain_one_piece():
    symbols = ("(S", "(S2", "(NP", ")NP", "XX", "dog")  # one is the beginning of another
    texts = ["(S (NP XX )NP (VP XX )VP )S", *TOY_TEXTS[:500]]
    with_symbols = learn(texts, VocabularyConfig(size=400, symbols=symbols))
    texts = ["(S (NP XX )NP", "(S2 (S (NPX XXL a dogma dog", "old dog", "(S(S )NP)NP"]
    for dropout in (0, 1):
        found = BpeDropout(with_symbols, dropout).encode(texts, new_random())
        if not dropout:
            np.testing.assert_array_equal(found[0][0], np.concatenate(with_symbols.encode(texts)))
        assert with_symbols.pieces(sentences(found)[0]) == ["▁(S", "▁(NP", "▁XX", "▁)NP"]


def test_with_every_merge_left_out_each_character_is_a_piece():
    texts = ["a dog", "", "two"]
    ((ids, lengths),) = BpeDropout(toy_tokenizer("bpe"), 1).encode(texts, new_random())
    assert lengths.tolist() == [6, 0, 4]
    assert toy_tokenizer("bpe").pieces(ids) == list("▁a▁dog▁two")


def algorithm_1(scores, word, dropout, random):
    """Returns the pieces of a word, by the algorithm as the paper writes it."""
    pieces = list(word)
    while True:
        merges = [
            (-scores[left + right], place)
            for place, (left, right) in enumerate(itertools.pairwise(pieces))
            if left + right in scores
        ]
        merges = [merge for merge in merges if random.random() >= dropout]
        if not merges:
            return tuple(pieces)
        place = min(merges)[1]
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


@pytest.mark.parametrize("word", ["Regenschirm", "grandmothers"])
def test_encodings_are_as_likely_as_by_the_algorithm_of_the_paper(word):
    tokenizer, times, random = toy_tokenizer("bpe"), 3000, new_random(1)
    processor = tokenizer.processor
    scores = {processor.id_to_piece(id): processor.get_score(id) for id in range(tokenizer.size)}
    expected = Counter(algorithm_1(scores, f"▁{word}", 0.4, random) for _ in range(times))
    encodings = BpeDropout(tokenizer, 0.4).encode([word], new_random(2), times)
    found = Counter(tuple(tokenizer.pieces(each)) for each in sentences(encodings))
    assert len(expected) > 10
    for pieces in expected | found:
        assert found[pieces] / times == pytest.approx(expected[pieces] / times, abs=0.04)


def test_encodings_are_determined_by_the_state_of_the_generator():
    encoder, texts = BpeDropout(toy_tokenizer("bpe"), 0.2), TOY_TEXTS[:50]
    first, again, other = (encoder.encode(texts, new_random(s), times=2) for s in (1, 1, 2))
    first, again, other = ([each.tolist() for each in sentences(x)] for x in (first, again, other))
    assert first == again != other and first[:50] != first[50:]
    assert [len(ids) for ids, _ in encoder.encode([], new_random(), times=2)] == [0, 0]


def test_vocabularies_without_merges_are_refused():
    dropout = EncodingsConfig(8, 0.1)
    refuse_other_kinds(dropout, toy_tokenizer("bpe"))
    refuse_other_kinds(EncodingsConfig(), toy_tokenizer("word_pieces"))
    message = re.escape("of kind 'bpe', whose pieces are merged. Leave them out")
    with pytest.raises(ValueError, match=f"{message}.* a vocabulary of kind 'word_pieces'"):
        refuse_other_kinds(dropout, toy_tokenizer("word_pieces"))
    with pytest.raises(ValueError, match=message):
        refuse_other_kinds(dropout, None, "word_pieces")
