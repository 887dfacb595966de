import numpy as np

from pipelines.special_ids import SPECIAL_PIECES, UNKNOWN
from pipelines.tokenizers.vocabulary import VocabularyConfig
from pipelines.tokenizers.word_piece_learner import learn_word_pieces, learnable


def test_rare_characters_get_no_piece():
    words = learnable({"aaa": 5000, "ab": 5000, "☃": 1}, VocabularyConfig(), SPECIAL_PIECES)
    assert dict(words) == {"aaa": 5000, "ab": 5000}
    config = VocabularyConfig(kind="word_pieces", size=10)
    tokenizer = learn_word_pieces(["aaa bab"] * 20000 + ["☃"], config, None)
    np.testing.assert_array_equal(tokenizer.encode(["☃"])[0], [UNKNOWN])


def test_the_characters_of_long_words_get_pieces():
    words = learnable({"a": 5, "b" * 60: 5}, VocabularyConfig(character_coverage=1.0), [])
    assert dict(words) == {"a": 5, "b": 1}
