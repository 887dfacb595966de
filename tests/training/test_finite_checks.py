"""A training whose numbers become infinite or NaN ends, and says where."""

import math
import re
from types import SimpleNamespace

import keras
import pytest
from support.runs.small_training import HeldOut, new_trainer, training_data

from t2t_keras.training.finite_checks import FiniteChecks, NonFiniteLoss, shortened


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


def test_a_loss_that_is_not_finite_ends_the_run_and_names_the_batches(tmp_path):
    trainer = new_trainer(tmp_path, callbacks=[Spoil(embedding, "nan")], checkpoint_every=4)
    message = (
        f"The loss of step 7 is nan. The cause is its batch ({pairs_of(7)}) or the update of step "
        f"6 ({pairs_of(6)}). The newest checkpoint, from step 4, is older. Try a smaller"
    )
    with pytest.raises(NonFiniteLoss, match=re.escape(message)):
        trainer.train()
    assert trainer.checkpoints.steps() == [4]


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


def test_a_held_out_loss_that_is_not_finite_ends_the_run(tmp_path, monkeypatch):
    settings = {"evaluate_every": 6, "checkpoint_every": 4}
    trainer = new_trainer(tmp_path, held_out=[HeldOut("general"), HeldOut("mine")], **settings)
    losses = {"general": math.nan, "mine": 1.0}
    monkeypatch.setattr(trainer, "held_out_loss", lambda each: {"loss": losses[each.name]})
    message = r"The held-out loss \(general\) after step 6 is nan, although all weights are finite"
    with pytest.raises(NonFiniteLoss, match=message):
        trainer.train()
    assert trainer.checkpoints.steps() == [4] and trainer.metrics_file.read() == []
    trainer.finite.check_held_out({"loss": 1.0}, 6)
    embedding(trainer.model).assign(embedding(trainer.model) * float("nan"))
    with pytest.raises(NonFiniteLoss, match="After step 6 the model is no longer finite"):
        trainer.finite.check_held_out({"loss": math.nan}, 6)


def test_the_first_step_and_batches_of_a_dataset_are_named():
    data = SimpleNamespace(examples=lambda step: None)
    checks = FiniteChecks(None, data, SimpleNamespace(steps=list))
    message = "The loss of step 1 is inf. The cause is its batch (dataset.repeat().skip(0).take(1))"
    with pytest.raises(NonFiniteLoss, match=re.escape(f"{message}. There is no checkpoint yet")):
        checks.check_losses([math.inf, 1.0], 2)
    assert shortened(range(20)).endswith("18, 19")
    assert shortened(range(21)).endswith("18, 19, … (21 in all)")
