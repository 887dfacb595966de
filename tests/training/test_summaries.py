import keras
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from t2t_keras.training.summaries import Summaries
from t2t_keras.training.training_config import TrainingConfig


def scalars(folder):
    """Returns (step, value) pairs by name."""
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()
    return {
        name: [
            (event.step, float(tf.make_ndarray(event.tensor_proto)))
            for event in events.Tensors(name)
        ]
        for name in events.Tags()["tensors"]
    }


def test_metrics_are_written_for_tensorboard(tmp_path):
    summaries = Summaries(tmp_path, TrainingConfig(log_every=2))
    model = keras.Sequential()
    model.compile(keras.optimizers.Adam(0.5))
    summaries.set_model(model)
    summaries.on_train_begin()
    for batch in range(4):
        summaries.on_train_batch_end(batch, {"loss": 3.0 - batch})
    summaries.on_epoch_end(0, {"step": 4, "loss": 2.5, "bleu": 12.5, "tokens": 100})
    summaries.on_train_end()
    assert scalars(tmp_path / "training") == {
        "loss": [(2, 2.0), (4, 0.0)],
        "learning_rate": [(2, 0.5), (4, 0.5)],
    }
    assert scalars(tmp_path / "held_out") == {"loss": [(4, 2.5)], "bleu": [(4, 12.5)]}
