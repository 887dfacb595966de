import numpy as np
import pytest

from pipelines.batches.batch_plan import BatchConfig, BatchPlan
from pipelines.batches.corpora import Mix, corpora_in, drawn, read_corpora
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
        ("z:3:4,z:2", [("z:3", 4), ("z", 2)]),
    ],
)
def test_corpora_are_folders_with_or_without_weights(text, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("x,y:2", "z:3"):
        (tmp_path / name).mkdir()
    assert [*corpora_in(text).items()] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:1,b", "the weight of each; without weights.* Received: a:1,b"),
        ("a:1,b:0", "with a positive number .* Received: a:1,b:0"),
        ("a:1,b:nan", "Received: a:1,b:nan"),
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
    assert corpora.mix.passes(range(16)).tolist() == [16 / 5 / 11, 16 * 4 / 5 / 5]
    unweighted = read_corpora(f"{tmp_path}/general,{tmp_path}/mine")
    assert unweighted.mix.passes(range(16)).tolist() == [1, 1]


def test_temperature_shows_small_corpora_more_often(tmp_path):
    write_corpus(tmp_path / "large" / "data", [160])
    write_corpus(tmp_path / "small" / "data", [10])
    both = f"{tmp_path}/large/data,{tmp_path}/small/data"
    assert read_corpora(both).mix.names == both.split(","), "folders of the same name"
    assert read_corpora(both, temperature=2).mix.weights == pytest.approx([160**0.5, 10**0.5])
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


SIZES = 3000, 400
RANDOM = np.random.default_rng(0)
# The sentences of the second corpus are longer.
LENGTHS = np.concatenate([RANDOM.integers(2, 20, (3000, 2)), RANDOM.integers(8, 30, (400, 2))])


def new_plan(weights=(1, 4), seed=1, lengths=LENGTHS, **settings):
    mix = Mix(["general", "mine"], SIZES, weights)
    return BatchPlan(lengths, BatchConfig(tokens=2000, max_length=40, **settings), seed, mix)


def counts_of(plan, epochs):
    """Returns how often each pair is seen in some epochs."""
    batches = [plan.batch(step)[0] for step in range(epochs * plan.steps)]
    return np.bincount(np.concatenate(batches), minlength=sum(SIZES))


@pytest.mark.parametrize(("weights", "share"), [((1, 4), 0.2), ((30, 1), 30 / 31)])
def test_each_corpus_has_its_share_of_every_epoch_and_roughly_of_every_batch(weights, share):
    plan = new_plan(weights)
    for epoch in range(2):
        steps = range(epoch * plan.steps, (epoch + 1) * plan.steps)
        seen = np.concatenate([plan.batch(step)[0] for step in steps])
        assert len(seen) == pytest.approx(sum(SIZES), abs=plan.left_over + 20)
        assert (seen < SIZES[0]).mean() == pytest.approx(share, abs=0.01)
    # The widths of the batches with sentences of both corpora.
    batches = [plan.batch(step) for step in range(plan.steps)]
    mixed = [0 not in plan.mix.counts(e).values() for e, width, *_ in batches if 10 < width < 20]
    assert np.mean(mixed) > 0.8


@pytest.mark.parametrize("epochs", [1, 7])
def test_the_pairs_of_a_corpus_are_seen_equally_often(epochs):
    general, mine = np.split(counts_of(new_plan(), epochs), [SIZES[0]])
    # 680 of 3,000 pairs and 6.8 times 400 pairs an epoch; an epoch leaves out less than a batch.
    assert general.mean() == pytest.approx(680 / 3000 * epochs, rel=0.05)
    assert mine.mean() == pytest.approx(6.8 * epochs, rel=0.05)
    assert general.max() <= np.ceil(0.25 * epochs) + 1
    assert mine.max() - mine.min() <= 2 + epochs


def test_without_weights_an_epoch_has_every_pair_once():
    plan = new_plan(None)
    assert counts_of(plan, 1).max() == 1
    assert plan.steps == BatchPlan(LENGTHS, BatchConfig(tokens=2000, max_length=40), seed=1).steps
    assert set(counts_of(new_plan(seed=None), 1)) == {1}, "nor has an evaluation weights"


def test_the_widths_fit_the_mix():
    """Widths with little padding depend on how often each sentence is seen."""
    often_long, rarely_long = (new_plan(w, buckets=3).boundaries for w in ((1, 100), (100, 1)))
    assert often_long[0] > rarely_long[0]


def test_draws_are_the_next_members_of_shuffled_passes():
    members = np.arange(100, 110)
    twice = np.concatenate([drawn(members, 4, epoch, (1, 2)) for epoch in range(5)])
    assert sorted(twice[:10]) == sorted(twice[10:]) == members.tolist()
    assert not np.array_equal(twice[:10], twice[10:])
    many = np.bincount(drawn(members, 25, 3, (1,)) - 100)
    assert (many.min(), many.max()) == (2, 3)
    many = np.bincount(np.concatenate([drawn(members, 7, epoch, (1,)) for epoch in range(9)]) - 100)
    assert (many.min(), many.max()) == (6, 7)
    np.testing.assert_array_equal(drawn(members, 10, 3, (1,)), members)


def test_a_mix_is_described_and_a_corpus_of_long_pairs_only_is_refused():
    plan = new_plan()
    assert plan.mix.lines(plan.examples) == [
        "general: 3,000 pairs, 20.0% of every epoch, each pair 0.227 times",
        "mine: 400 pairs, 80.0% of every epoch, each pair 6.8 times",
    ]
    with pytest.raises(ValueError, match="corpus 'mine' has no pair that is short enough"):
        new_plan(lengths=LENGTHS + np.repeat([[0], [50]], SIZES, axis=0))
