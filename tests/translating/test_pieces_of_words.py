import numpy as np
import pytest
from untrained import learned_tokenizer

from pipelines.special_ids import BEGIN, END
from pipelines.tokenizers import words
from t2t_keras.translating.pieces_of_words import pieces_of_words


@pytest.mark.parametrize("text", ["Der Hund schläft.", "</s> <s>", "Müller", "", "a  b"])
def test_words_are_those_of_the_text(text):
    tokenizer = learned_tokenizer()
    (ids,) = tokenizer.encode([text])
    for marked in (ids, np.append(ids, END), [BEGIN, *ids, END]):
        sizes, is_word = pieces_of_words(tokenizer, marked)
        assert sizes.sum() == len(marked)
        assert [size for _, size in words(tokenizer, ids)] == sizes[is_word].tolist()
        assert is_word.sum() == len(text.split())


def test_a_space_at_the_end_of_an_output_that_was_cut_off_is_no_word():
    tokenizer = learned_tokenizer()
    (ids,) = tokenizer.encode(["Der Hund"])
    space = tokenizer.pieces(range(400)).index("▁")
    sizes, is_word = pieces_of_words(tokenizer, [*ids, space])
    assert tokenizer.decode([[*ids, space]]) == ["Der Hund"]
    assert is_word.tolist() == [True, True, False] and sizes[-1] == 1
