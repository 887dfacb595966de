import numpy as np
import pytest
import tensorflow as tf

from pipelines.batches.assembly import assemble, batches
from pipelines.batches.batch_plan import BatchConfig, BatchPlan
from pipelines.batches.dataset import TrainingData, dataset
from pipelines.batches.id_store import IdStore, Shard
from pipelines.special_ids import BEGIN, END


def random_store(count=400, seed=0):
    random = np.random.default_rng(seed)

    def sentence():
        return random.integers(4, 90, random.integers(1, 15))

    return IdStore([Shard.of([(sentence(), sentence()) for _ in range(count)])])


STORE = random_store()


def new_plan(seed=1):
    return BatchPlan(STORE.lengths + 1, BatchConfig(tokens=200, buckets=4, max_length=16), seed)


def assert_equal(batch, expected):
    (inputs, labels), (expected_inputs, expected_labels) = batch, expected
    for side in ("source", "target"):
        np.testing.assert_array_equal(inputs[side], expected_inputs[side])
    np.testing.assert_array_equal(labels, expected_labels)


def test_a_batch_has_begin_and_end_and_padding_rows():
    small = IdStore([Shard.of([([5, 6], [7, 8, 9]), ([], [4])])])
    inputs, labels = assemble(small, [1, 0], width=5, rows=3)
    assert inputs["source"].tolist() == [[END, 0, 0, 0, 0], [5, 6, END, 0, 0], [0] * 5]
    assert inputs["target"].tolist() == [[BEGIN, 4, 0, 0, 0], [BEGIN, 7, 8, 9, 0], [0] * 5]
    assert labels.tolist() == [[4, END, 0, 0, 0], [7, 8, 9, END, 0], [0] * 5]
    assert {x.dtype for x in (*inputs.values(), labels)} == {np.dtype("int32")}


def test_long_sentences_are_cut_before_their_end_id():
    small = IdStore([Shard.of([([5, 6, 7, 8], [5, 6, 7]), ([5], range(4, 14))])])
    inputs, labels = assemble(small, [0, 1], width=4, rows=2)
    assert inputs["source"].tolist() == [[5, 6, 7, END], [5, END, 0, 0]]
    assert inputs["target"].tolist() == [[BEGIN, 5, 6, 7], [BEGIN, 4, 5, 6]]
    assert labels.tolist() == [[5, 6, 7, END], [4, 5, 6, END]]


def test_a_resumed_dataset_goes_on_as_an_uninterrupted_one():
    first = new_plan().steps - 2
    whole = batches(STORE, new_plan(), steps=first + 5)
    resumed = dataset(STORE, new_plan(), first, steps=5)
    for batch, expected in zip(resumed, [*whole][first:], strict=True):
        assert_equal(batch, expected)


@pytest.mark.parametrize(("workers", "replicas"), [(2, 1), (3, 1), (2, 2)])
def test_the_rows_of_all_parts_form_the_batch(workers, replicas):
    """The last part may have surplus rows of padding."""
    steps, count = new_plan().steps + 2, workers * replicas
    shares = [
        list(batches(STORE, new_plan(), 0, steps, worker, workers, replicas))
        for worker in range(workers)
    ]
    for step, expected in enumerate(batches(STORE, new_plan(), steps=steps)):
        own = slice(step * replicas, (step + 1) * replicas)
        parts, rows = [part for share in shares for part in share[own]], len(expected[1])
        assert len(parts) == count and len({len(labels) for _, labels in parts}) == 1
        inputs, labels = tf.nest.map_structure(lambda *each: np.concatenate(each), *parts)
        own = {side: ids[:rows] for side, ids in inputs.items()}, labels[:rows]
        assert_equal(own, expected)
        assert not labels[rows:].any()


def test_the_rows_of_all_replicas_form_the_batch(replicas):
    arguments = {"start_step": 1, "steps": new_plan().steps + 2}
    found = TrainingData(STORE, new_plan()).distributed(replicas, **arguments)
    all_expected = list(batches(STORE, new_plan(), **arguments))
    for batch, expected in zip(list(found), all_expected, strict=True):
        parts = tf.nest.map_structure(replicas.experimental_local_results, batch)
        (inputs, labels), whole = parts, {}
        for side in inputs:
            whole[side] = np.concatenate([part.numpy() for part in inputs[side]])
        assert_equal((whole, np.concatenate([part.numpy() for part in labels])), expected)


def test_no_tuner_delays_the_end_of_a_training():
    """TensorFlow's tuner sleeps for up to a minute, and deleting an iterator waits for it."""
    assert dataset(STORE, new_plan()).options().autotune.enabled is False


def test_the_cardinality_is_known():
    """`fit` shows its progress, also over a part or a share of the batches."""
    endless, once = new_plan(), new_plan(seed=None)
    assert dataset(STORE, endless).cardinality() == tf.data.INFINITE_CARDINALITY
    for plan, settings, expected in [
        (endless, {"start_step": 5, "steps": 2, "worker": 1, "workers": 2, "replicas": 2}, 4),
        (once, {}, once.steps),
        (once, {"start_step": once.steps - 1, "replicas": 2}, 2),
    ]:
        data = dataset(STORE, plan, **settings)
        assert data.cardinality() == len(list(data)) == expected
        assert data.skip(1).cardinality() == max(0, expected - 1)
