import numpy as np
import pytest
import tensorflow as tf

from pipelines.batch_plan import BatchConfig, BatchPlan
from pipelines.dataset import assemble, batches, dataset, distributed, encoded
from pipelines.id_store import IdStore, Shard
from pipelines.tokenizers import BEGIN, END
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig, learn


def store(count=400, seed=0):
    random = np.random.default_rng(seed)

    def sentence():
        return random.integers(4, 90, random.integers(1, 15))

    return IdStore([Shard.of([(sentence(), sentence()) for _ in range(count)])])


STORE = store()


def plan(seed=1):
    return BatchPlan(STORE.lengths + 1, BatchConfig(tokens=200, buckets=4, max_length=16), seed)


def assert_equal(found, expected):
    (inputs, labels), (expected_inputs, expected_labels) = found, expected
    np.testing.assert_array_equal(inputs["source"], expected_inputs["source"])
    np.testing.assert_array_equal(inputs["target"], expected_inputs["target"])
    np.testing.assert_array_equal(labels, expected_labels)


def test_a_batch_is_what_the_contract_says():
    small = IdStore([Shard.of([([5, 6], [7, 8, 9]), ([], [4])])])
    inputs, labels = assemble(small, [1, 0], width=5, rows=3)
    np.testing.assert_array_equal(
        inputs["source"], [[END, 0, 0, 0, 0], [5, 6, END, 0, 0], [0, 0, 0, 0, 0]]
    )
    np.testing.assert_array_equal(
        inputs["target"], [[BEGIN, 4, 0, 0, 0], [BEGIN, 7, 8, 9, 0], [0, 0, 0, 0, 0]]
    )
    np.testing.assert_array_equal(labels, [[4, END, 0, 0, 0], [7, 8, 9, END, 0], [0, 0, 0, 0, 0]])
    assert {x.dtype for x in (*inputs.values(), labels)} == {np.dtype("int32")}


def test_what_is_too_long_is_cut_in_front_of_its_end():
    small = IdStore([Shard.of([([5, 6, 7, 8], [5, 6, 7]), ([5], range(4, 14))])])
    inputs, labels = assemble(small, [0, 1], width=4, rows=2)
    np.testing.assert_array_equal(inputs["source"], [[5, 6, 7, END], [5, END, 0, 0]])
    np.testing.assert_array_equal(inputs["target"], [[BEGIN, 5, 6, 7], [BEGIN, 4, 5, 6]])
    np.testing.assert_array_equal(labels, [[5, 6, 7, END], [4, 5, 6, END]])


def test_texts_become_a_store_in_memory():
    texts = pairs(300)
    tokenizer = learn([side for pair in texts for side in pair], VocabularyConfig(size=400))
    made = encoded(texts, tokenizer)
    for column, side in enumerate(("source", "target")):
        ids = made.gather(side, range(300), made.lengths.max())
        assert tokenizer.decode(ids) == [pair[column] for pair in texts]


def test_starting_at_any_step_continues_to_the_byte():
    steps = plan().steps
    whole = list(batches(STORE, plan(), steps=2 * steps + 5))
    for start in (0, 3, steps - 1, steps, 2 * steps + 1):
        for i, batch in enumerate(batches(STORE, plan(), start_step=start, steps=4)):
            assert_equal(batch, whole[start + i])
    for batch, expected in zip(
        dataset(STORE, plan(), start_step=steps - 2), whole[steps - 2 :], strict=False
    ):
        assert_equal(batch, expected)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_workers_rows_put_together_are_the_batch(workers):
    steps = plan().steps + 2
    shares = [
        list(batches(STORE, plan(), steps=steps, worker=worker, workers=workers))
        for worker in range(workers)
    ]
    for step, (inputs, labels) in enumerate(batches(STORE, plan(), steps=steps)):
        rows = len(labels)
        together = [share[step] for share in shares]
        assert len({len(part[1]) for part in together}) == 1
        joined = (
            {
                name: np.concatenate([part[0][name] for part in together])[:rows]
                for name in ("source", "target")
            },
            np.concatenate([part[1] for part in together])[:rows],
        )
        assert_equal(joined, (inputs, labels))
        surplus = np.concatenate([part[1] for part in together])[rows:]
        assert not surplus.any()


@pytest.mark.parametrize("way", ["distributed", "experimental_distribute_dataset"])
def test_the_replicas_rows_put_together_are_the_batch(replicas, way):
    steps = plan().steps + 2
    if way == "distributed":
        found = distributed(replicas, STORE, plan(), start_step=1, steps=steps)
    else:
        whole = dataset(STORE, plan(), start_step=1, steps=steps)
        found = replicas.experimental_distribute_dataset(whole)
    found = list(found)
    assert len(found) == steps
    for batch, expected in zip(
        found, batches(STORE, plan(), start_step=1, steps=steps), strict=True
    ):
        joined = tf.nest.map_structure(
            lambda x: np.concatenate(
                [part.numpy() for part in replicas.experimental_local_results(x)]
            ),
            batch,
        )
        assert_equal(joined, expected)


def test_workers_and_their_replicas_take_different_rows():
    for inputs, _ in batches(STORE, plan(), steps=1):
        rows = len(inputs["source"])
        shares = [
            [part[0]["source"] for part in batches(STORE, plan(), 0, 1, worker, 2, replicas=2)]
            for worker in range(2)
        ]
        assert [len(share) for share in shares] == [2, 2]
        together = np.concatenate([part for share in shares for part in share])
        np.testing.assert_array_equal(together[:rows], inputs["source"])


def test_every_pair_is_evaluated_once():
    seen = [
        tuple(row[row > END])
        for _, labels in batches(STORE, plan(seed=None))
        for row in labels
        if row.any()
    ]
    everyone = [tuple(row[row > 0]) for row in STORE.gather("target", range(len(STORE)), 15)]
    assert sorted(seen) == sorted(everyone)


def test_wrong_numbers_are_named():
    with pytest.raises(ValueError, match=r"`worker` must be from 0 to 1. Received: worker=2"):
        next(batches(STORE, plan(), worker=2, workers=2))
    with pytest.raises(ValueError, match="`start_step` must be at least 0"):
        next(batches(STORE, plan(), start_step=-1))
    with pytest.raises(ValueError, match="The plan is not this store's"):
        next(batches(STORE, BatchPlan(STORE.lengths[:-1] + 1, seed=1)))
    with pytest.raises(ValueError, match="The plan is not this store's"):
        next(batches(STORE, BatchPlan(STORE.lengths + 2, seed=1)))
    assert list(batches(STORE, plan(seed=None), start_step=10_000)) == []
