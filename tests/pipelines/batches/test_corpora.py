import pytest

from pipelines.batches.corpora import Corpus, corpora_in, read_corpora
from pipelines.batches.id_store import Shard, finished_store
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.separated_tokens import TokenTokenizer

PIECES = ["<pad>", "<s>", "</s>", "<unk>", *"abcdef"]


def write_corpus(folder, sizes, pieces=PIECES):
    """Writes prepared data with shards of these sizes. Source and target of a pair are equal."""
    for index, size in enumerate(sizes):
        pairs = [([4 + row % 6], [4 + row % 6]) for row in range(size)]
        Shard.of(pairs).write(folder / f"shard-{index:05}-of-{len(sizes):05}")
    finished_store(folder)
    (folder / "vocabulary").mkdir()
    save_tokenizer(TokenTokenizer(pieces), folder / "vocabulary")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b/c", [("a", None), ("b/c", None)]),
        ("a:1,b:4", [("a", 1), ("b", 4)]),
        ("a:0.25,b:1e2", [("a", 0.25), ("b", 100)]),
        ("x,y:2", [("x,y:2", None)]),
        ("z:3:4,x,y:2:1", [("z:3", 4), ("x,y:2", 1)]),
    ],
)
def test_corpora_are_folders_with_or_without_weights(text, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("x,y:2", "z:3"):
        (tmp_path / name).mkdir()
    assert corpora_in(text) == [Corpus(*each) for each in expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:1,b", "Give a weight to each corpus or to none.* Received: a:1,b"),
        ("a:1,b:0", "with a positive number as weight.* Received: 'b:0'"),
        ("a:1,b:nan", "Received: 'b:nan'"),
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


def test_temperature_shows_small_corpora_more_often(tmp_path):
    write_corpus(tmp_path / "large" / "data", [160])
    write_corpus(tmp_path / "small" / "data", [10])
    both = f"{tmp_path}/large/data,{tmp_path}/small/data"
    assert read_corpora(both).mix.names == both.split(","), "folders of the same name"
    weights = read_corpora(both, temperature=2).mix.weights
    assert weights == pytest.approx([160**0.5, 10**0.5])
    assert read_corpora(both, temperature=1).mix.weights is None
    for wrong in (f"{both.replace(',', ':1,')}:2", f"{tmp_path}/large/data"):
        with pytest.raises(ValueError, match=r"is for several corpora without weights"):
            read_corpora(wrong, temperature=2)


def test_corpora_with_different_vocabularies_are_refused(tmp_path):
    write_corpus(tmp_path / "a", [1])
    write_corpus(tmp_path / "b", [1], [*PIECES, "g"])
    message = f"b/vocabulary is a different .* {tmp_path}/b again .*={tmp_path}/a/vocabulary"
    with pytest.raises(ValueError, match=message):
        read_corpora(f"{tmp_path}/a:1,{tmp_path}/b:1")
