import re

import pytest

from pipelines.batches.corpora import Corpus, corpora_in, read_corpora
from pipelines.batches.id_store import Shard
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.separated_tokens import TokenTokenizer

PIECES = ["<pad>", "<s>", "</s>", "<unk>", *"abcdef"]


def write_corpus(folder, sizes, pieces=PIECES):
    """Writes prepared data with shards of these sizes. Source and target of a pair are equal."""
    for index, size in enumerate(sizes):
        pairs = [([4 + row % 6], [4 + row % 6]) for row in range(size)]
        Shard.of(pairs).write(folder / f"shard-{index:05}-of-{len(sizes):05}")
    (folder / "vocabulary").mkdir()
    save_tokenizer(TokenTokenizer(pieces), folder / "vocabulary")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b/c", [("a", None), ("b/c", None)]),
        ("a:1,b:4", [("a", 1), ("b", 4)]),
        ("a:0.25,b:1e2,c:3", [("a", 0.25), ("b", 100), ("c", 3)]),
    ],
)
def test_corpora_are_folders_with_or_without_weights(text, expected):
    assert corpora_in(text) == [Corpus(*each) for each in expected]


def test_the_name_of_a_folder_may_contain_commas_and_colons(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a,b:2", "c:3"):
        (tmp_path / name).mkdir()
    assert corpora_in("a,b:2") == [Corpus("a,b:2", None)]
    assert corpora_in("c:3,d") == [Corpus("c:3", None), Corpus("d", None)]
    assert corpora_in("c:3:4,d:1") == [Corpus("c:3", 4), Corpus("d", 1)]
    assert corpora_in("d:1,a,b:2:4") == [Corpus("d", 1), Corpus("a,b:2", 4)]
    assert corpora_in("c:3:4,a,b:2:1") == [Corpus("c:3", 4), Corpus("a,b:2", 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:1,b", "Give a weight to each corpus or to none.* Received: a:1,b"),
        ("a:1,b:0", "with a positive number as weight.* Received: 'b:0'"),
        ("a:1,b:nan", "Received: 'b:nan'"),
        ("a:1,b:inf", "Received: 'b:inf'"),
        ("a:1,b:much", "Received: 'b:much'"),
        ("a:1,:2", "Received: ':2'"),
        ("a:1,b:1,./a:3", "must be different folders. Received: a:1,b:1,./a:3"),
    ],
)
def test_wrong_corpora_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        corpora_in(text)


def test_the_pairs_of_corpora_follow_one_another(tmp_path):
    write_corpus(tmp_path / "general", [8, 3])
    write_corpus(tmp_path / "mine", [5])
    single = read_corpora(str(tmp_path / "mine"))
    assert (len(single.store), single.mix) == (5, None)
    corpora = read_corpora(f"{tmp_path}/general:1,{tmp_path}/mine:4")
    assert len(corpora.store) == 16
    assert corpora.vocabulary == tmp_path / "general" / "vocabulary"
    assert corpora.store.gather("source", [7, 8, 10, 11, 15], 1).ravel().tolist() == [5, 4, 6, 4, 8]
    assert corpora.mix.counts([0, 7, 8, 10, 11, 15]) == {"general": 4, "mine": 2}
    assert corpora.mix.passes(range(16)) == {"general": 16 / 5 / 11, "mine": 16 * 4 / 5 / 5}
    unweighted = read_corpora(f"{tmp_path}/general,{tmp_path}/mine")
    assert unweighted.mix.passes(range(16)) == {"general": 1, "mine": 1}


def test_folders_of_the_same_name_are_told_apart_by_their_paths(tmp_path):
    write_corpus(tmp_path / "x" / "data", [1])
    write_corpus(tmp_path / "y" / "data", [1])
    text = f"{tmp_path}/x/data,{tmp_path}/y/data"
    assert read_corpora(text).mix.names == text.split(",")


def test_temperature_shows_small_corpora_more_often(tmp_path):
    write_corpus(tmp_path / "large", [160])
    write_corpus(tmp_path / "small", [10])
    both = f"{tmp_path}/large,{tmp_path}/small"
    weights = read_corpora(both, temperature=2).mix.weights
    assert weights == pytest.approx([160**0.5, 10**0.5])
    assert read_corpora(both, temperature=1).mix.weights is None
    for wrong in (f"{tmp_path}/large:1,{tmp_path}/small:2", f"{tmp_path}/large"):
        with pytest.raises(ValueError, match=r"is for several corpora without weights"):
            read_corpora(wrong, temperature=2)


def test_corpora_with_different_vocabularies_are_refused(tmp_path):
    write_corpus(tmp_path / "a", [1])
    write_corpus(tmp_path / "b", [1], [*PIECES, "g"])
    message = f"b/vocabulary is a different .* {tmp_path}/b again .*={tmp_path}/a/vocabulary"
    with pytest.raises(ValueError, match=message):
        read_corpora(f"{tmp_path}/a:1,{tmp_path}/b:1")


def test_ids_beyond_the_vocabulary_are_refused_with_the_name_of_their_corpus(tmp_path):
    write_corpus(tmp_path / "a", [1], PIECES[:6])
    write_corpus(tmp_path / "b", [6], PIECES[:6])
    message = f"{tmp_path}/b has the id 9, but its vocabulary only 6 pieces"
    with pytest.raises(ValueError, match=re.escape(message)):
        read_corpora(f"{tmp_path}/a,{tmp_path}/b")
