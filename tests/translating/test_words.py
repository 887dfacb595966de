import numpy as np
import pytest
from support.models.fake_engine import LetterTokenizer
from support.runs.untrained import learned_tokenizer

from pipelines.special_ids import BEGIN, END
from pipelines.tokenizers import words
from t2t_keras.translating.words import (
    between_words,
    confidence_of,
    joined_words,
    linked,
    weights_by_order,
    word_pieces,
    words_of,
)

P = [0.5, 0.25, 0.75, 1.0, 0.125]


@pytest.mark.parametrize("text", ["Der Hund schläft.", "</s> <s>", "", "a  b"])
def test_words_are_those_of_the_text(text):
    tokenizer = learned_tokenizer()
    (ids,) = tokenizer.encode([text])
    for marked in (ids, np.append(ids, END), [BEGIN, *ids, END]):
        found = word_pieces(tokenizer, marked)
        assert found.sizes.sum() == len(marked)
        assert [size for _, size in words(tokenizer, ids)] == found.sizes[found.is_word].tolist()
        assert found.words == text.split()


def test_a_space_at_the_end_of_an_output_that_was_cut_off_is_no_word():
    tokenizer = learned_tokenizer()
    (ids,) = tokenizer.encode(["Der Hund"])
    space = tokenizer.pieces(range(400)).index("▁")
    _, sizes, is_word = word_pieces(tokenizer, [*ids, space])
    assert tokenizer.decode([[*ids, space]]) == ["Der Hund"]
    assert is_word.tolist() == [True, True, False] and sizes[-1] == 1


def ids_of(text):
    return np.append(LetterTokenizer().encode([text])[0], END)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("abcd", [0.125]), ("a bc", [0.25, 0.125]), (">>de<< a b", [0.25, 0.125]), ("", [])],
)
def test_a_word_is_as_probable_as_its_least_probable_piece(text, expected):
    found = word_pieces(LetterTokenizer(), ids_of(text)[: len(P)])
    np.testing.assert_allclose(confidence_of(found, np.log(P)), expected)
    assert confidence_of(found, [-np.inf] * len(P)) == [0.0] * len(expected)


def test_a_target_word_is_linked_to_the_source_word_with_the_largest_weight():
    assert linked(np.array([[0.6, 0.4, 0.0], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])) == [
        (0, 0),
        (0, 1),
        (2, 2),
    ]
    assert linked(np.zeros([0, 2])) == linked(np.zeros([2, 0])) == []


def test_the_weights_between_words_leave_out_ends_and_codes():
    source, target = ids_of(">>de<< ab c"), ids_of("d")
    weights = np.zeros((len(target), len(source)))
    weights[:2, 4:6] = 0.5  # both pieces of the target attend to the space and to the c
    found = between_words(LetterTokenizer(), source, target, weights)
    assert found.shape == (1, 2) and found.argmax() == 1


def test_words_are_counted_through_all_parts():
    parts = [(ids_of("a b"), ids_of("A B C")), (ids_of("c d"), ids_of("D"))]
    weights = [np.zeros((len(target), len(source))) for source, target in parts]
    weights[0][:, 3], weights[1][:, 1] = 1, 1
    pairs = zip(parts, weights, strict=True)
    found = joined_words([words_of(LetterTokenizer(), *ids, each)[0] for ids, each in pairs])
    assert found.source == ["a", "b", "c", "d"] and found.target == ["A", "B", "C", "D"]
    assert found.pairs == [(1, 0), (1, 1), (1, 2), (2, 3)]
    words, confidence = words_of(LetterTokenizer(), *parts[1], log_p=np.log(P[:3]))
    assert words.pairs is joined_words([words]).pairs is None and confidence == [0.25]


def test_words_of_a_part_that_is_too_long_are_aligned_by_their_order():
    assert weights_by_order([0] * 4, [0] * 2).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]
    assert weights_by_order([0] * 2, [0] * 4).argmax(1).tolist() == [0, 0, 1, 1]
