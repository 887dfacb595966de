import shutil

import numpy as np
import pytest

from pipelines.batches.id_store import IdStore, Shard, finished_store


def random_pairs(count=50, seed=0, largest=60000):
    random = np.random.default_rng(seed)

    def sentence():
        return random.integers(3, largest, random.integers(0, 12)).tolist()

    return [(sentence(), sentence()) for _ in range(count)]


def padded(pairs, side, examples, width):
    rows = [pairs[i][side] for i in examples]
    return np.array([row + [0] * (width - len(row)) for row in rows])


def several_encodings(number, count=30, seed=0):
    """Returns a shard with several encodings of its pairs, and the pairs of each encoding."""
    encodings = [random_pairs(count, seed=seed + encoding) for encoding in range(number)]
    sides = [side for pairs in encodings for side in zip(*pairs, strict=True)]
    ids = np.concatenate([np.array(ids, "int32") for side in sides for ids in side])
    return Shard.of_lengths(ids, *(list(map(len, side)) for side in sides)), encodings


def test_a_shard_holds_several_encodings_and_one_with_a_single_encoding_repeats_it(tmp_path):
    first, first_pairs = several_encodings(3)
    second, second_pairs = several_encodings(1, seed=7)
    for index, shard in enumerate((first, second)):
        shard.write(tmp_path / f"shard-{index}")
    finished_store(tmp_path)
    store = IdStore.read(tmp_path)
    assert (len(store), store.encodings) == (60, 3)
    assert [shard.encodings for shard in store.shards] == [3, 1]
    pairs = [first_pairs[encoding] + second_pairs[0] for encoding in range(3)]
    np.testing.assert_array_equal(
        store.lengths, [[(len(s), len(t)) for s, t in each] for each in pairs]
    )
    assert store.gather("source", [0], 12).dtype == np.int32
    random = np.random.default_rng(1)
    examples, encodings = random.permutation(60)[:40], random.integers(3, size=40)
    for side, name in enumerate(("source", "target")):
        chosen = [pairs[e][example] for example, e in zip(examples, encodings, strict=True)]
        np.testing.assert_array_equal(
            store.gather(name, examples, 12, encodings), padded(chosen, side, range(40), 12)
        )


def test_the_files_of_a_shard_are_two_arrays_and_their_digests(tmp_path):
    Shard.of([([7, 8], [9]), ([], [5, 6, 4])]).write(tmp_path / "shard-0")
    Shard.of([([70_000], [])]).write(tmp_path / "shard-1")
    folder = tmp_path / "shard-0"
    assert np.load(folder / "ids.npy").tolist() == [7, 8, 9, 5, 6, 4]
    assert np.load(folder / "ends.npy").tolist() == [[0, 2, 2], [2, 3, 6]]
    assert {path.name for path in folder.iterdir()} == {"ids.npy", "ends.npy", "digests.json"}
    dtypes = [shard.ids.dtype for shard in finished_store(tmp_path).shards]
    assert dtypes == [np.uint16, np.int32], "small ids take two bytes"
    Shard.of([([], []), ([], [])]).write(tmp_path / "shard-2")
    store = finished_store(tmp_path)
    assert store.gather("source", [4, 0, 3], 3).tolist() == [[0] * 3, [7, 8, 0], [0] * 3]


def test_a_store_has_exactly_the_listed_shards(tmp_path):
    with pytest.raises(ValueError, match=r"holds no finished data: it has no store.json. Run"):
        IdStore.read(tmp_path)
    (tmp_path / "train.en").write_text("A dog.\n")
    with pytest.raises(ValueError, match=r"Received: the file .*train.en. Prepare text first"):
        IdStore.read(tmp_path / "train.en")
    for index in range(2):
        Shard.of(random_pairs()).write(tmp_path / f"shard-{index}")
    with pytest.raises(ValueError, match="again if it was interrupted"):
        IdStore.read(tmp_path)
    (tmp_path / "store.json").write_text('{"shard-0": 50, "shard-1": 51}')
    with pytest.raises(ValueError, match=r"other shards than its store.json lists"):
        IdStore.read(tmp_path)
    (tmp_path / "store.json").write_text('{"shard-0": 50, "shard-1": 50}')
    assert len(IdStore.read(tmp_path)) == 100
    shutil.rmtree(tmp_path / "shard-0")
    with pytest.raises(ValueError, match=r"lists, shard-0, shard-1. Run the t2t-prepare command"):
        IdStore.read(tmp_path)


def test_a_flipped_bit_is_noticed(tmp_path):
    Shard.of(random_pairs()).write(tmp_path / "shard-00000")
    finished_store(tmp_path)
    path = tmp_path / "shard-00000" / "ends.npy"
    contents = bytearray(path.read_bytes())
    contents[-3] ^= 1
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=r"shard-00000 .*ends.npy does not match .*t2t-prepare"):
        IdStore.read(tmp_path)
