"""Saves and restores the options of `compile` that Keras does not have.

Keras does not compile a loaded model whose class overrides `compile`, unless the class also
overrides `get_compile_config` and `compile_from_config`.
"""

import contextlib
import inspect
import warnings

import keras

from t2t_keras.sequence_model import SequenceModel
from t2t_keras.token_loss import NoTokenLoss, token_loss
from t2t_keras.training.step.recomputation import recompute_blocks

KERAS_COMPILE = inspect.signature(keras.Model.compile)
# {option of `compile` that only the training step on TensorFlow has: default}
TENSORFLOW_OPTIONS = {"accumulate": 1, "clip_norm": None, "r_drop": 0.0, "by_products": False}
ADVICE = (
    "On other backends, use smaller batches, the optimizer's gradient_accumulation_steps and "
    "global_clipnorm, metrics=[TokenAccuracy(), Perplexity()], and no r_drop"
)


class CompileOptions:
    """Base class of the training steps, for a `SequenceModel` that also derives from it."""

    has_loss_weights = False
    compile_options = {}

    def compile(self, *args, recompute=False, **kwargs):
        """Configures training in the same way as Keras' `compile`.

        `recompute` saves memory, see recomputation.py.

        The additional options that TensorFlow has are rejected, with advice on how to get
        perplexity, accuracy and accumulated batches in Keras.
        """
        refuse_tensorflow_options(kwargs)
        self.compile_in_keras(*args, **kwargs)
        self.compile_options = {"recompute": recompute}
        recompute_blocks(self, recompute)

    def compile_in_keras(self, *args, **kwargs):
        """Calls Keras' `compile` with the mean over real tokens of the loss.

        Records whether the loss is weighted.
        """
        given = KERAS_COMPILE.bind(self, *args, **kwargs)
        options = given.arguments
        if options.get("loss") is not None:  # without one, Keras keeps the loss and its weights
            self.has_loss_weights = options.get("loss_weights") is not None
            options["loss"] = self.mean_over_tokens(options["loss"])
        super().compile(*given.args[1:], **given.kwargs)

    def mean_over_tokens(self, loss):
        """Returns a loss as a `TokenLoss` if that is possible, otherwise unchanged."""
        # Keras interprets lists and dicts of losses. A model with its own `call` may not return
        # logits.
        if isinstance(loss, list | tuple | dict) or type(self).call is not SequenceModel.call:
            return loss
        with contextlib.suppress(NoTokenLoss):
            return token_loss(loss, self.config.vocab_size)
        return loss

    def get_compile_config(self):
        config = super().get_compile_config()
        if config and self.optimizer is not None:
            config["optimizer_state"] = optimizer_state(self.optimizer, self.trainable_variables)
        return {**config, **self.compile_options} if config else config

    def compile_from_config(self, config):
        unknown = [name for name in unusable_options(config) if not self.has_option(name)]
        if self.compile_is_overridden():
            super().compile_from_config(config)  # warns
        elif unknown:
            warnings.warn(
                "The loaded model is not compiled: it was saved on TensorFlow, compiled with "
                f"{', '.join(unknown)}. {ADVICE}. Its weights are complete",
                stacklevel=2,
            )
        else:
            config = keras.saving.deserialize_keras_object(config)
            state = config.pop("optimizer_state", {})
            self.compile(**config)
            if self.optimizer is not None:
                restore_optimizer_state(self.optimizer, self.trainable_variables, **state)

    def has_option(self, name):
        return name in inspect.signature(self.compile).parameters

    def compile_is_overridden(self):
        """Returns whether a user's class overrides `compile`, perhaps with its own options."""
        owner = next(each for each in type(self).__mro__ if "compile" in vars(each))
        return issubclass(owner, keras.Model)

    def save_own_variables(self, store):
        """Saves the dropout seeds with the optimizer's state. Keras does not save them."""
        super().save_own_variables(store)
        if self.compiled and self.optimizer is not None:
            for index, seed in enumerate(dropout_seeds(self)):
                store[f"seed_{index}"] = keras.ops.convert_to_numpy(seed)

    def load_own_variables(self, store):
        """Loads the seeds if their number is right for the model."""
        names = list(store.keys())
        own = {name: store[name] for name in names if not name.startswith("seed_")}
        super().load_own_variables(own)
        seeds = dropout_seeds(self)
        if len(names) - len(own) == len(seeds):
            for index, seed in enumerate(seeds):
                seed.assign(store[f"seed_{index}"])


def optimizer_state(optimizer, weights):
    """Returns a dict of what Keras does not save of an optimizer."""
    undecayed = [i for i, weight in enumerate(weights) if not optimizer._use_weight_decay(weight)]
    return {"undecayed": undecayed, "built": optimizer.built}


def restore_optimizer_state(optimizer, weights, undecayed=(), built=True):
    """Prepares a new optimizer for the loading of its variables.

    Args:
        optimizer: an optimizer that is not built.
        weights: the trainable weights.
        undecayed: indices of the weights without weight decay.
        built: whether the optimizer of the file has moments.
    """
    if undecayed:
        optimizer.exclude_from_weight_decay([weights[index] for index in undecayed])
    if built:
        optimizer.build(weights)


def dropout_seeds(model):
    """Returns the states of a model's random number generators."""
    return [v for v in model.non_trainable_variables if v.name == "seed_generator_state"]


def unusable_options(options):
    """Returns the names of those options that only the training step on TensorFlow has."""
    defaults = TENSORFLOW_OPTIONS.items()
    return [name for name, default in defaults if options.get(name, default) != default]


def refuse_tensorflow_options(options):
    """Removes options with default values. Raises `ValueError` for all other values."""
    if names := unusable_options(options):
        given = ", ".join(f"{name}={options[name]!r}" for name in names)
        raise ValueError(
            f"{', '.join(f'`{name}`' for name in names)} of `compile` requires the backend "
            f"tensorflow. {ADVICE}. Received: {given} on {keras.config.backend()}"
        )
    for name in TENSORFLOW_OPTIONS:
        options.pop(name, None)
