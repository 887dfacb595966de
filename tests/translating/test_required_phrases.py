import pytest
from toy_tokenizers import toy_tokenizer

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.required_phrases import PhraseEncoder, Requirements


class Upper:
    """A glossary: the words in upper case must occur."""

    def targets_in(self, text):
        return [word for word in text.split() if word.isupper()]


def test_a_sentence_has_the_phrases_of_its_text_and_of_the_glossary_once():
    requirements = Requirements([["A", "x y"], []], Upper())
    assert sorted(requirements.of_sentence("A b A", 0)) == ["A", "A", "x y"]
    assert requirements.of_sentence("B b", 1) == ["B"]
    assert Requirements().of_sentence("B b", 1) == []


def test_a_part_has_the_phrases_of_its_words_and_the_text_has_others():
    requirements = Requirements([["A", "x y"]], Upper())
    parts, others = requirements.of_parts(["a b", "A c B"], "a b A c B", 0)
    assert ([sorted(each) for each in parts], others) == ([[], ["A", "B"]], ["x y"])


def test_a_phrase_is_encoded_as_it_stands_between_spaces():
    tokenizer = toy_tokenizer("bpe")
    (ids,) = PhraseEncoder(tokenizer, SearchConfig()).ids_of(["  rote \u0048und"], [])
    assert tokenizer.decode([ids]) == ["rote Hund"] and tokenizer.begins_word[ids[0]]


@pytest.mark.parametrize(
    ("kind", "phrase", "settings", "message"),
    [
        ("word_pieces", "日本", {}, "the vocabulary can only write '⁇"),
        ("bpe", " ", {}, "no translation can contain the phrase ' '"),
        ("bpe", "Hund", {"banned": tuple(range(4, 500))}, "'Hund' contains the banned piece"),
        ("bpe", "Hund", {"method": "sample"}, "from beam search only, not from samples"),
        ("bpe", "Hund " * 30, {}, "have 30 pieces together, but the model writes at most 20"),
    ],
)
def test_phrases_that_cannot_be_required_are_refused(kind, phrase, settings, message):
    encoder = PhraseEncoder(toy_tokenizer(kind), SearchConfig(**settings), longest=20)
    with pytest.raises(ValueError) as error:
        encoder.ids_of([phrase], [])
    assert message.partition("30 pieces")[0] in str(error.value)


def test_a_piece_that_continues_the_word_does_not_end_a_phrase():
    tokenizer = toy_tokenizer("bpe")
    ends = tokenizer.ends_phrase()
    for piece, end in zip(tokenizer.pieces(range(tokenizer.size)), ends, strict=True):
        if piece[0].isalnum() or piece.startswith("<0x"):
            assert not end, piece
        if piece[0] in "▁.,":
            assert end, piece
