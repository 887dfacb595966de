"""The training step on JAX, exported for GPUs and TPUs on a machine without them."""

import dataclasses

import keras
import pytest
from support.models.helpers import TINY, pairs
from support.models.rival_models import RIVALS

from t2t_keras import LabelSmoothedCrossEntropy, TransformerConfig
from t2t_keras.models import model_class
from t2t_keras.training.step.trainable_models import trainable

pytestmark = [
    pytest.mark.jax,
    pytest.mark.skipif(keras.config.backend() != "jax", reason="a test of the JAX step"),
]


def transformer(**settings):
    config = {**TINY, "num_layers": 1, "max_length": 30, "dropout": 0.1, **settings}
    return TransformerConfig(**config)


CONFIGS = {
    "restricted": transformer(neighbourhood=2, decoder_neighbourhood=2, positions="t5"),
    "options": transformer(pre_norm=True, tie_output=False, output_bias=True, positions="alibi"),
    **{
        name: dataclasses.replace(config, dropout=0.1)
        for name, (_, config) in RIVALS.items()
        if "," not in name
    },
}


def exported_step(config, dtype="float32", metrics=(), platforms=("cuda", "tpu")):
    """Returns the update of a model for the platforms, exported by JAX."""
    import jax

    model = trainable(model_class(config))(config, dtype=dtype)
    model.compile("adam", LabelSmoothedCrossEntropy(0.1), metrics=list(metrics))
    batch = pairs()
    model(batch)
    model.optimizer.build(model.trainable_variables)
    model.make_train_function()
    state = [
        [variable.value for variable in variables]
        for variables in (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
    ]
    exported = jax.export.export(jax.jit(model.train_step), platforms=platforms)
    return exported(state, (batch, batch["target"]))


def test_the_step_is_lowered_for_gpus_and_tpus():
    exported = exported_step(transformer(), "mixed_bfloat16")
    assert exported.platforms == ("cuda", "tpu")
    assert "bf16" in exported.mlir_module()


@pytest.mark.long
@pytest.mark.parametrize("name", CONFIGS)
def test_every_model_and_option_is_lowered(name):
    assert exported_step(CONFIGS[name])
