import pytest
from support.text.toy_tokenizers import PLAIN

from pipelines.tokenizers import SeparateTokenizers, load_tokenizer, save_tokenizer
from pipelines.tokenizers.separated_tokens import TokenTokenizer

SPECIAL = ["<blank>", "<s>", "</s>", "<unk>"]


def tokens(*more, **options):
    return TokenTokenizer([*SPECIAL, "a", "e\u0301", "b,", *more], PLAIN, **options)


def test_each_token_between_spaces_has_an_id_and_others_are_unknown():
    encoded = tokens().encode(["a  b, a", " x e\u0301 ", "", "<s> </s> <blank> <unk>"])
    assert [ids.tolist() for ids in encoded] == [[4, 6, 4], [3, 5], [], [3, 3, 3, 3]]
    assert tokens().decode([[1, 4, 6, 2, 0], [3, 5], []]) == ["a b,", "⁇ e\u0301", ""]
    encoded = tokens(begin=True).encode(["a a", "", " "])
    assert [ids.tolist() for ids in encoded] == [[1, 4, 4], [], []]


def test_text_that_sentencepiece_has_split_keeps_its_signs_for_spaces():
    tokenizer = tokens("▁Hund", "▁")
    assert [ids.tolist() for ids in tokenizer.encode(["▁Hund a ▁"])] == [[7, 4, 8]]
    assert tokenizer.decode([[7, 4]]) == ["▁Hund a"]


def test_separate_vocabularies_are_saved_in_two_folders(tmp_path):
    both = SeparateTokenizers(tokens("c", begin=True), tokens("d"))
    save_tokenizer(both, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]
    loaded = load_tokenizer(tmp_path)
    assert isinstance(loaded, SeparateTokenizers) and loaded.contents() == both.contents()
    for ours, theirs in ((loaded.source, both.source), (loaded.target, both.target)):
        assert ours.files() == theirs.files() and ours.normalization == PLAIN
    (tmp_path / "target" / "pieces.json").unlink()
    with pytest.raises(ValueError, match=r"target holds no readable vocabulary"):
        load_tokenizer(tmp_path)
