"""A training whose numbers become infinite or NaN ends, and says where."""

import math
import re

import keras
import pytest
from support.runs.small_training import HeldOut, new_trainer, training_data

from t2t_keras.training.finite_checks import NonFiniteLoss


class Spoil(keras.callbacks.Callback):
    """Multiplies a variable by NaN or infinity after step 6, as a failed update would."""

    def __init__(self, variable, factor):
        super().__init__()
        self.variable, self.factor = variable, float(factor)

    def on_train_batch_end(self, batch, logs=None):
        if batch == 5:
            variable = self.variable(self.model)
            variable.assign(variable * self.factor)


def embedding(model):
    return model.embedding.matrix


def pairs_of(step):
    return "sentence pairs " + ", ".join(map(str, training_data().examples(step - 1)))


@pytest.mark.long
def test_a_loss_that_is_not_finite_ends_the_run_and_names_the_batches(tmp_path):
    trainer = new_trainer(tmp_path, callbacks=[Spoil(embedding, "nan")], checkpoint_every=4)
    message = (
        f"The loss of step 7 is nan. The cause is its batch ({pairs_of(7)}) or the update of step "
        f"6 ({pairs_of(6)}). The newest checkpoint, from step 4, is older. Try a smaller"
    )
    with pytest.raises(NonFiniteLoss, match=re.escape(message)):
        trainer.train()
    assert trainer.checkpoints.steps() == [4]


@pytest.mark.long
@pytest.mark.parametrize(
    ("spoil", "array"),
    [
        (Spoil(embedding, "nan"), "model/0000"),
        # An infinite second moment makes all later updates of the weight zero.
        (Spoil(lambda model: model.optimizer._velocities[0], "inf"), "optimizer/"),
    ],
    ids=["weights", "moments"],
)
def test_a_model_that_is_not_finite_is_never_saved(tmp_path, spoil, array):
    trainer = new_trainer(tmp_path, callbacks=[spoil], checkpoint_every=3)
    message = rf"After step 6 the model is no longer finite \({array}.*{pairs_of(6)}\. .* step 3"
    with pytest.raises(NonFiniteLoss, match=message):
        trainer.train()
    assert trainer.checkpoints.steps() == [3]
    resumed = new_trainer(tmp_path, checkpoint_every=3, steps=6)
    assert resumed.train() is None and resumed.checkpoints.steps() == [3, 6]


@pytest.mark.long
@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        ([], r"The held-out loss \(general\) after step 6 is nan, although all weights are finite"),
        ([Spoil(embedding, "nan")], "After step 6 the model is no longer finite"),
    ],
    ids=["held-out text", "weights"],
)
def test_a_held_out_loss_that_is_not_finite_ends_the_run(tmp_path, monkeypatch, callbacks, message):
    settings = {"evaluate_every": 6, "checkpoint_every": 4, "callbacks": callbacks}
    sets = [HeldOut("general"), HeldOut("mine")]
    trainer = new_trainer(tmp_path, held_out=sets, **settings)
    original = trainer.machines.on_every_replica

    def on_every_replica(step, batch_spec):
        if step == trainer.model.test_step and not callbacks:
            return lambda batch: {"loss": math.nan}
        return original(step, batch_spec)

    monkeypatch.setattr(trainer.machines, "on_every_replica", on_every_replica)
    with pytest.raises(NonFiniteLoss, match=message):
        trainer.train()
    assert trainer.checkpoints.steps() == [4] and trainer.records.metrics_file.read() == []
