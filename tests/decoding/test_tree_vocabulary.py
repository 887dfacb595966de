"""Tables of vocabularies that write trees."""

import copy

import numpy as np
import pytest
from tree_tokenizer import PIECES, TOKENIZER, TreeTokenizer

from t2t_keras.decoding.tree_vocabulary import (
    CLOSING,
    CONTINUATION,
    OPENING,
    OTHER,
    WORD_START,
    tree_vocabulary,
)

pytestmark = pytest.mark.one_backend


def test_pieces_have_classes_and_brackets_have_partners():
    table = tree_vocabulary(TOKENIZER, "XX")
    brackets = [OPENING, CLOSING] * 2
    texts = [WORD_START, WORD_START, CONTINUATION, WORD_START]
    assert table.classes.tolist() == [OTHER] * 4 + brackets + texts
    assert table.closings[[4, 6]].tolist() == [5, 7] and np.count_nonzero(table.closings) == 2
    assert table.placeholder == (11,)


def test_pieces_with_brackets_that_are_none_are_no_text():
    # An opening bracket without partner, one inside a word, a space, and a byte.
    tokenizer = TreeTokenizer([*PIECES, " (C", "(A", " ", "x"])
    tokenizer.byte_ids = (15,)
    table = tree_vocabulary(tokenizer, "tag")
    assert table.classes[12:].tolist() == [OTHER] * 4
    assert table.written[[4, 5, 8, 12, 13]].tolist() == [3, 3, 8, 3, 3]


def test_a_vocabulary_without_brackets_is_refused():
    tokenizer = TreeTokenizer([*PIECES[:4], " (A", " )B", " XX"])
    with pytest.raises(ValueError, match=r"needs a vocabulary of trees, with a piece for each"):
        tree_vocabulary(tokenizer, "XX")


def test_words_can_be_leaves_only_in_a_shared_vocabulary():
    tokenizer = copy.copy(TOKENIZER)
    tokenizer.source = TreeTokenizer(PIECES[:8])
    with pytest.raises(ValueError, match="needs one vocabulary for both sides"):
        tree_vocabulary(tokenizer, "word")
    assert len(tree_vocabulary(tokenizer, "XX").begins_word) == 8
