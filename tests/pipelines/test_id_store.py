import os
import shutil

import numpy as np
import pytest

from pipelines.id_store import IdStore, Shard
from pipelines.whole import whole_folder


def corpus(count=50, seed=0, largest=60000):
    random = np.random.default_rng(seed)

    def sentence():
        return random.integers(3, largest, random.integers(0, 12)).tolist()

    return [(sentence(), sentence()) for _ in range(count)]


def expected(pairs, side, examples, width):
    rows = [pairs[i][side] for i in examples]
    return np.array([row + [0] * (width - len(row)) for row in rows])


@pytest.mark.parametrize("largest", [60000, 100000])
def test_what_was_written_is_read_at_random(tmp_path, largest):
    pairs = corpus(largest=largest)
    for number, start in enumerate((0, 20, 21)):
        end = (20, 21, 50)[number]
        Shard.of(pairs[start:end]).write(tmp_path / f"shard-{number:05}")
    store = IdStore.read(tmp_path)
    assert len(store) == 50
    np.testing.assert_array_equal(store.lengths, [(len(s), len(t)) for s, t in pairs])
    examples = np.random.default_rng(1).permutation(50)[:30]
    for side, name in enumerate(("source", "target")):
        found = store.gather(name, examples, 12)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected(pairs, side, examples, 12))


def test_a_store_in_memory_is_the_same():
    pairs = corpus()
    store = IdStore([Shard.of(pairs[:7]), Shard.of(pairs[7:])])
    np.testing.assert_array_equal(
        store.gather("target", [8, 0], 12), expected(pairs, 1, [8, 0], 12)
    )


def test_small_ids_take_two_bytes(tmp_path):
    Shard.of(corpus(largest=60000)).write(tmp_path / "shard-00000")
    Shard.of(corpus(largest=100000)).write(tmp_path / "shard-00001")
    assert [shard.ids.dtype for shard in IdStore.read(tmp_path).shards] == [
        np.uint16,
        np.int32,
    ]


def test_a_shard_that_was_not_finished_does_not_count(tmp_path, monkeypatch):
    Shard.of(corpus()).write(tmp_path / "shard-00000")

    def full_disk(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "save", full_disk)
    with pytest.raises(OSError, match="no space"):
        Shard.of(corpus()).write(tmp_path / "shard-00001")
    assert len(IdStore.read(tmp_path).shards) == 1
    monkeypatch.undo()
    Shard.of(corpus()).write(tmp_path / "shard-00001")
    assert len(IdStore.read(tmp_path)) == 100


def test_what_is_missing_or_damaged_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"holds no finished data. Run t2t-prepare"):
        IdStore.read(tmp_path)
    Shard.of(corpus()).write(tmp_path / "shard-00000")
    (tmp_path / "shard-00000" / "ids.npy").write_bytes(b"half a file")
    with pytest.raises(ValueError, match=r"shard-00000 is missing or damaged .*Delete it"):
        IdStore.read(tmp_path)


def test_a_store_that_lost_a_shard_or_was_never_finished_is_refused(tmp_path):
    for number in range(2):
        Shard.of(corpus()).write(tmp_path / f"shard-{number}")
    (tmp_path / "preparation.json").write_text("{}")
    with pytest.raises(ValueError, match="once more if it was interrupted"):
        IdStore.read(tmp_path)
    (tmp_path / "store.json").write_text('{"shard-0": 50, "shard-1": 50}')
    assert len(IdStore.read(tmp_path)) == 100
    shutil.rmtree(tmp_path / "shard-0")
    with pytest.raises(ValueError, match=r"has lost shard-0. Prepare the data again"):
        IdStore.read(tmp_path)


def test_two_who_write_the_same_shard_do_not_disturb_each_other(tmp_path):
    shard = Shard.of(corpus())
    with whole_folder(tmp_path / "shard-0") as first, whole_folder(tmp_path / "shard-0") as second:
        assert first != second
        for folder in (first, second):
            np.save(folder / "ids.npy", shard.ids)
            np.save(folder / "ends.npy", np.stack(list(shard.ends.values())))
    assert len(IdStore.read(tmp_path)) == 50
    assert [path.name for path in tmp_path.iterdir()] == ["shard-0"]


def test_a_shard_keeps_one_file_open(tmp_path):
    for number in range(60):
        Shard.of(corpus(5)).write(tmp_path / f"shard-{number:03}")
    before = len(os.listdir("/proc/self/fd"))
    store = IdStore.read(tmp_path)
    assert len(os.listdir("/proc/self/fd")) - before <= 60
    assert len(store) == 300


def test_sentences_without_any_ids(tmp_path):
    Shard.of([([], []), ([], [])]).write(tmp_path / "shard-00000")
    store = IdStore.read(tmp_path)
    np.testing.assert_array_equal(store.gather("source", [1, 0], 3), np.zeros((2, 3)))
