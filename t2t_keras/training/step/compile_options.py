"""Options of `compile`, and compiled models in `.keras` files.

Keras does not compile a loaded model whose class overrides `compile`, unless the class also
overrides `get_compile_config` and `compile_from_config`.
"""

import inspect
import warnings

import keras

from t2t_keras.checks import check, check_integer, check_not_negative
from t2t_keras.losses import NoTokenLoss, token_loss
from t2t_keras.sequence_model import SequenceModel
from t2t_keras.training.optimizers import Adam

# A model that was saved on TensorFlow refers to our Adam by this name, on every backend.
keras.saving.get_custom_objects().setdefault("t2t_keras>Adam", Adam)

KERAS_COMPILE = inspect.signature(keras.Model.compile)


class CompileOptions:
    """Base class of the training steps, for a `SequenceModel` that also derives from it."""

    has_loss_weights = False
    compile_options = {}

    def compile(
        self, *args, accumulate=1, clip_norm=None, r_drop=0.0, guided_alignment=0.0, **kwargs
    ):
        """Configures training like Keras' `compile`, with a few more options.

        A loss that gives one value for each token becomes its mean over real tokens. On TensorFlow,
        `jit_compile` decides whether XLA compiles the forward and backward pass: True, False, or
        "auto", which is True if there is a GPU or TPU.

        Args:
            *args, **kwargs: see `keras.Model.compile`.
            accumulate: number of parts into which a replica splits its rows. The parts are
                computed one after another, so that a large batch needs less memory. The result is
                the same as for the whole batch. Only on TensorFlow, like the next two options.
            clip_norm: maximum global norm of the gradients of the whole batch. Larger gradients are
                scaled down. None or 0: no limit.
            r_drop: α of R-Drop, see r_drop.py. 0: one pass over each batch.
            guided_alignment: weight of the loss in guided_alignment.py. 0: not used.
        """
        check_not_negative("guided_alignment", guided_alignment)
        can_align = "return_weights" in inspect.signature(self.decode).parameters
        allowed = f"0 for a {type(self).__name__}, which has no attention heads to guide"
        check(can_align or not guided_alignment, "guided_alignment", guided_alignment, allowed)
        check_integer("accumulate", accumulate)
        check_not_negative("r_drop", r_drop)
        check_not_negative("clip_norm", 0 if clip_norm is None else clip_norm)
        given = KERAS_COMPILE.bind(self, *args, **kwargs)
        options = given.arguments
        if options.get("loss") is not None:  # without one, Keras keeps the loss and its weights
            self.has_loss_weights = options.get("loss_weights") is not None
            options["loss"] = self.mean_over_tokens(options["loss"])
        super().compile(*given.args[1:], **given.kwargs)
        self.accumulate, self.clip_norm, self.r_drop = accumulate, clip_norm or None, r_drop
        self.guided_alignment = guided_alignment
        if keras.config.backend() != "tensorflow":
            self.refuse_unused_options()
        self.compile_options = {
            "accumulate": accumulate,
            "clip_norm": self.clip_norm,
            "r_drop": r_drop,
            "guided_alignment": guided_alignment,
        }

    def mean_over_tokens(self, loss):
        """Returns a loss as a `TokenLoss` if that is possible, otherwise unchanged."""
        # Keras interprets lists and dicts of losses. A model with its own `call` may not return
        # logits.
        if isinstance(loss, list | tuple | dict) or type(self).call is not SequenceModel.call:
            return loss
        try:
            return token_loss(loss, self.config.vocab_size)
        except NoTokenLoss:
            if getattr(loss, "columns", ()):
                raise  # Keras' own step would not give them to the loss
            return loss

    def refuse_unused_options(self):
        """Rejects options of `compile` that Keras' training step would ignore."""
        if self.accumulate > 1 or self.clip_norm is not None or self.r_drop:
            raise ValueError(
                "`accumulate`, `clip_norm` and `r_drop` have an effect only on TensorFlow, with a "
                "loss that is a mean of one value for each token, without loss_weights and without "
                "`compute_loss` or `__call__` of one's own. Otherwise, use the optimizer's "
                "gradient_accumulation_steps and global_clipnorm, and no r_drop. Received: "
                f"loss={self.loss!r}, accumulate={self.accumulate}, clip_norm={self.clip_norm}, "
                f"r_drop={self.r_drop} on {keras.config.backend()}"
            )

    def get_compile_config(self):
        config = super().get_compile_config()
        if config and self.optimizer is not None:
            # What Keras does not save of an optimizer.
            has_decay = map(self.optimizer._use_weight_decay, self.trainable_variables)
            undecayed = [index for index, has in enumerate(has_decay) if not has]
            config["optimizer_state"] = {"undecayed": undecayed, "built": self.optimizer.built}
        return {**config, **self.compile_options} if config else config

    def compile_from_config(self, config):
        config = keras.saving.deserialize_keras_object(config)
        state = config.pop("optimizer_state", {})
        try:
            self.compile(**config)
        except ValueError as error:  # options of a different backend
            message = f"The loaded model is not compiled. Its weights are complete. {error}"
            warnings.warn(message, stacklevel=2)
            return
        if self.optimizer is not None:
            weights = self.trainable_variables
            if undecayed := [weights[index] for index in state.get("undecayed", ())]:
                self.optimizer.exclude_from_weight_decay(undecayed)
            if state.get("built", True):  # the optimizer of the file has moments
                self.optimizer.build(weights)

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


def dropout_seeds(model):
    """Returns the states of a model's random number generators."""
    return [v for v in model.non_trainable_variables if v.name == "seed_generator_state"]
