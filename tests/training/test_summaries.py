import keras
import tensorflow as tf
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

from t2t_keras.training.summaries import Summaries
from t2t_keras.training.training_config import TrainingConfig


def scalars(folder):
    """Returns (step, value) pairs by name, as TensorBoard reads them."""
    events = EventAccumulator(str(folder), tensor_size_guidance={"scalars": 0}).Reload()
    return {
        name: [
            (event.step, float(tf.make_ndarray(event.tensor_proto)))
            for event in events.Tensors(name)
        ]
        for name in events.Tags()["tensors"]
    }


def write_steps(folder, first, last, value, sets=()):
    """Writes the metrics of some steps and evaluations, all with one value."""
    summaries = Summaries(folder, TrainingConfig(log_every=2), names=sets)
    model = keras.Sequential()
    model.compile(keras.optimizers.Adam(0.5))
    model.optimizer.iterations.assign(first - 1)
    summaries.set_model(model)
    summaries.on_train_begin()
    for step in range(first, last + 1):
        summaries.on_train_batch_end(step - 1, {"loss": value})
        if step % 4 == 0:
            logs = {"step": step, "loss": value + 1, "bleu": 12.5, "tokens": 100}
            logs |= {f"{name}/loss": value + number for number, name in enumerate(sets, 1)}
            summaries.on_epoch_end(0, logs)
    summaries.on_train_end()


def test_metrics_are_written_for_tensorboard(tmp_path):
    write_steps(tmp_path, 1, 4, 2.0)
    assert scalars(tmp_path / "training") == {
        "loss": [(2, 2.0), (4, 2.0)],
        "learning_rate": [(2, 0.5), (4, 0.5)],
    }
    assert scalars(tmp_path / "held_out") == {"loss": [(4, 3.0)], "bleu": [(4, 12.5)]}


def test_tensorboard_replaces_the_metrics_of_steps_that_a_resumed_run_repeats(tmp_path):
    write_steps(tmp_path, 1, 8, 2.0)
    for path in tmp_path.glob("*/events.*"):  # TensorBoard reads files in the order of their names
        path.rename(path.with_name("events.out.tfevents.0.v2"))
    write_steps(tmp_path, 5, 8, 1.0)
    losses = scalars(tmp_path / "training")["loss"]
    assert losses == [(2, 2.0), (4, 2.0), (6, 1.0), (8, 1.0)]
    assert scalars(tmp_path / "held_out")["loss"] == [(4, 3.0), (8, 2.0)]


def test_named_sets_have_folders_of_their_own_and_are_replaced_when_steps_are_repeated(tmp_path):
    """The main set's loss is not written twice."""
    write_steps(tmp_path, 1, 8, 2.0, sets=("general", "mine"))
    for path in tmp_path.glob("*/events.*"):
        path.rename(path.with_name("events.out.tfevents.0.v2"))
    write_steps(tmp_path, 5, 8, 1.0, sets=("general", "mine"))
    assert scalars(tmp_path / "general") == {"loss": [(4, 3.0), (8, 2.0)]}
    assert scalars(tmp_path / "mine") == {"loss": [(4, 4.0), (8, 3.0)]}
    assert scalars(tmp_path / "held_out").keys() == {"bleu"}
