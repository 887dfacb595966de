"""Trainers whose data and held-out sets are datasets of `tf.data`."""

import contextlib
import io
import itertools
import re

import keras
import pytest
import tensorflow as tf
from support.runs.small_training import assert_same_bits, new_trainer, training_data

from pipelines.batches.dataset import dataset
from t2t_keras.training.checkpoints import restore, state_of
from t2t_keras.training.dataset_batches import DatasetBatches, held_out_sets


def batches(steps=5, seed=3):
    """Returns a finite dataset whose passes have different orders."""
    tf.random.set_seed(1)  # the order also depends on the global seed
    return dataset(training_data().store, training_data().plan, steps=steps).shuffle(steps, seed)


SETTINGS = {"checkpoint_every": 3, "evaluate_every": 4, "log_every": 2}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A trainer after 7 steps, in the second pass over a dataset, and its output."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        sets = {"general": batches(2), "mine": batches(3)}
        trainer = new_trainer(folder, data=batches(), held_out=sets, steps=7, **SETTINGS)
        initial = state_of(trainer.model)
        trainer.train()
    return trainer, initial, state_of(trainer.model), printed.getvalue()


@pytest.mark.long
def test_a_dataset_trains_as_fit_does_on_the_same_batches(uninterrupted):
    trainer, initial, state, printed = uninterrupted
    first, second = trainer.metrics_file.read()
    real = sum(int((ids > 0).sum()) for x, _ in batches().as_numpy_iterator() for ids in x.values())
    assert first["tokens"] <= real < second["tokens"] < 2 * real
    assert re.search(r"step 7/7  epoch 1\.40  loss .* tokens/s", printed)
    assert first["loss"] == first["general/loss"] != first["mine/loss"] and "bleu" not in first
    assert trainer.checkpoints.best() == min((first, second), key=lambda x: x["loss"])["step"]

    restore(trainer.model, initial)
    trainer.model.fit(batches().repeat().take(7), verbose=0, shuffle=False)
    assert_same_bits(state_of(trainer.model), state)


@pytest.mark.long
def test_a_resumed_run_takes_the_batches_that_are_left(uninterrupted, tmp_path):
    _, _, state, _ = uninterrupted
    for steps in (4, 7):
        trainer = new_trainer(tmp_path, data=batches(), steps=steps, **SETTINGS)
        assert trainer.train() is None
    assert_same_bits(state_of(trainer.model), state)


def test_replicas_share_the_rows_of_each_batch(replicas):
    facts = []
    for strategy in (tf.distribute.get_strategy(), replicas):
        data = DatasetBatches(batches())
        rows = [
            [len(part) for part in strategy.experimental_local_results(labels)]
            for _, labels in itertools.islice(data.distributed(strategy), 2)
        ]
        facts.append((data.tokens(2), [sum(each) for each in rows]))
    assert facts[0] == facts[1] and [len(each) for each in rows] == [2, 2]


def ids(*shape):
    return tf.data.Dataset.from_tensors(tf.ones(shape, tf.int32))


def of(source=None, target=None, labels=None, inputs=None, **weights):
    """Returns a dataset of one batch. By default, all its arrays are `[2, 3]`."""
    one = ids(2, 3)
    inputs = inputs or {"source": source or one, "target": target or one}
    return tf.data.Dataset.zip((inputs, labels or one, *weights.values()))


ONE = of()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2], "`data` must be a tf.data.Dataset or the `TrainingData` .* Received: list"),
        (ids(2, 3), r"must be batches \(\{.*\}, labels\).* Received: TensorSpec"),
        (tf.data.Dataset.zip((ids(3), ids(3))), "padded with 0 .*padded_batch.32"),
        (of(target=ids(2, 4)), r"`data`: Labels .*labels of shape \(2, 3\), 'target' .*\(2, 4\)"),
        (of(labels={"y": ids(2, 3)}), r"`data`: Labels must be ids of the shape of 'target'"),
        (of(source=ids(2, 3, 1)), r"`data`: 'source' must be integers of shape \[batch, length"),
        (of(inputs={"source": ids(2, 3)}), r"`data`: The model takes .* Received: \['source'\]"),
        (ONE.take(0), "`data` has no batches. Its cardinality is 0"),
    ],
)
def test_data_that_is_no_batches_is_refused(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        new_trainer(tmp_path, data=data)


def test_a_dataset_that_turns_out_to_be_empty_ends_the_training():
    data = DatasetBatches(ONE.filter(lambda *_: False))
    with pytest.raises(ValueError, match=r"The dataset has no batches\. Perhaps a file is empty"):
        next(iter(data.distributed(tf.distribute.get_strategy())))


def test_a_dataset_that_can_be_read_once_ends_with_its_first_pass():
    once = iter(ONE)
    data = DatasetBatches(
        tf.data.Dataset.from_generator(lambda: once, output_signature=ONE.element_spec)
    )
    batches = iter(data.distributed(tf.distribute.get_strategy()))
    next(batches)
    with pytest.raises(ValueError, match=r"has batches in its first pass only.*generator"):
        next(batches)


def test_labels_of_another_length_are_refused_before_the_step(tmp_path):
    """The lengths of padded batches are not known in advance."""
    wrong = of(target=ids(2, 4))
    any_length = tf.TensorSpec([None, None], tf.int32)
    spec = keras.tree.map_structure(lambda _: any_length, wrong.element_spec)
    data = tf.data.Dataset.from_generator(lambda: wrong, output_signature=spec)
    trainer = new_trainer(tmp_path, data=data)
    with pytest.raises(ValueError, match=r"Labels must be .*\(2, 3\), 'target' of shape \(2, 4\)"):
        trainer.train()


@pytest.mark.parametrize("name", ["a/b", "Loss", 1, ""])
def test_a_held_out_set_with_a_wrong_name_is_refused(name):
    with pytest.raises(ValueError, match=rf"name of a held-out set .*Received: {name!r}"):
        held_out_sets({name: ONE})


def test_held_out_datasets_are_finite_and_named_and_have_no_bleu(tmp_path):
    with pytest.raises(ValueError, match=r"must end.* dataset.take\(count\)"):
        held_out_sets(ONE.repeat())
    with pytest.raises(ValueError, match=r"need a name each.* Received: names '', ''"):
        held_out_sets([ONE, ONE])
    assert [each.name for each in held_out_sets({"a": ONE, "b": ONE})] == ["a", "b"]
    with pytest.raises(ValueError, match=r"`training.best_metric` must be a loss if"):
        new_trainer(tmp_path, data=ONE, held_out=ONE, best_metric="bleu")
