import numpy as np
import pytest
import tensorflow as tf
from support.text.toy_tokenizers import UGLY_TEXTS, toy_tokenizer

from pipelines.text.normalization import Normalization
from pipelines.tokenizers import SeparateTokenizers, graphs_of, load_tokenizer, save_tokenizer
from pipelines.tokenizers.separated_tokens import TokenTokenizer

SPECIAL = ["<blank>", "<s>", "</s>", "<unk>"]
PLAIN = Normalization(nfc=False, control_characters=False, space_sign=False)


def tokens(*more, **options):
    return TokenTokenizer([*SPECIAL, "a", "e\u0301", "b,", *more], PLAIN, **options)


def test_each_token_between_spaces_has_an_id_and_others_are_unknown():
    encoded = tokens().encode(["a  b, a", " x e\u0301 ", "", "<s> </s> <blank> <unk>"])
    assert [ids.tolist() for ids in encoded] == [[4, 6, 4], [3, 5], [], [3, 3, 3, 3]]


def test_text_that_sentencepiece_has_split_keeps_its_signs_for_spaces():
    tokenizer = tokens("▁Hund", "▁")
    assert [ids.tolist() for ids in tokenizer.encode(["▁Hund a ▁"])] == [[7, 4, 8]]
    assert tokenizer.decode([[7, 4]]) == ["▁Hund a"]


def test_decoding_joins_tokens_with_spaces():
    assert tokens().decode([[1, 4, 6, 2, 0], [3, 5], []]) == ["a b,", "⁇ e\u0301", ""]


def test_begin_precedes_every_text_that_is_not_empty():
    encoded = tokens(begin=True).encode(["a a", "", " "])
    assert [ids.tolist() for ids in encoded] == [[1, 4, 4], [], []]


@pytest.mark.parametrize("begin", [False, True])
def test_a_graph_gives_the_same_ids_and_texts(begin):
    tokenizer = tokens("Hund.", "中", "<0x41>", "▁padding", begin=begin)
    graph = tokenizer.in_graph()
    texts = [*UGLY_TEXTS, "a b, a", "Hund. a", "a\u200bb 中 中中"]
    expected = [ids.tolist() for ids in tokenizer.encode(texts)]
    inputs = [text.encode() if isinstance(text, str) else text for text in texts]
    assert tf.function(graph.tokenize)(tf.constant(inputs)).to_list() == expected
    sequences = tf.ragged.constant([*expected, list(range(tokenizer.size))], dtype="int32")
    texts = tokenizer.decode(sequences.to_list())
    assert [text.decode() for text in graph.detokenize(sequences).numpy()] == texts


@pytest.mark.parametrize("vocabulary", [SPECIAL[:3], [*SPECIAL, "a", "a"]])
def test_tokens_that_are_not_distinct_are_refused(vocabulary):
    with pytest.raises(ValueError, match="must be distinct, and at least the four special ones"):
        TokenTokenizer(vocabulary)


def test_separate_vocabularies_are_saved_in_two_folders(tmp_path):
    both = SeparateTokenizers(tokens("c", begin=True), tokens("d"))
    save_tokenizer(both, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]
    loaded = load_tokenizer(tmp_path)
    assert isinstance(loaded, SeparateTokenizers) and loaded.contents() == both.contents()
    for ours, theirs in ((loaded.source, both.source), (loaded.target, both.target)):
        assert ours.files() == theirs.files() and ours.normalization == PLAIN
    (tmp_path / "target" / "tokens.json").unlink()
    with pytest.raises(ValueError, match=r"target holds no readable vocabulary"):
        load_tokenizer(tmp_path)


def test_separate_vocabularies_have_one_normalization():
    with pytest.raises(ValueError, match="must have the same normalization"):
        SeparateTokenizers(tokens(), toy_tokenizer("bpe"))


def test_a_shared_vocabulary_has_one_graph_and_separate_ones_have_two():
    tokenizer = tokens()
    assert tokenizer.source is tokenizer.target is tokenizer
    source, target = graphs_of(tokenizer)
    assert source is target
    source, target = graphs_of(SeparateTokenizers(tokens("c"), tokens("d")))
    np.testing.assert_array_equal(source.tokenize(["c d"]).to_list(), [[7, 3]])
    np.testing.assert_array_equal(target.tokenize(["c d"]).to_list(), [[3, 7]])
