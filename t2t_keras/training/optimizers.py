"""Optimizers by name, for `training.optimizer`.

`OPTIMIZERS` is open: a plug-in adds a function of (schedule, **options), or an optimizer class of
Keras. Each of ours has the options that belong to its algorithm, with the names that Keras gives
them. Adam's defaults are the paper's (§5.3). Muon's Adam part has the same β2 and ε.
"""

import inspect

import keras

from pipelines.registry import Registry
from t2t_keras.checks import check, check_integer, check_not_negative, check_positive, check_rate
from t2t_keras.options import checked_options, made, read_options

if keras.config.backend() == "tensorflow":
    from t2t_keras.training.adam import Adam
else:
    from keras.optimizers import Adam

# Patterns of weights that Muon leaves to Adam, besides embeddings, vectors and arrays of more than
# two dimensions: their rows are looked up, not multiplied with.
LOOKED_UP = ["positions", "table", "bias"]


def with_options(make, **defaults):
    """Returns a function of (schedule, **options) that makes an optimizer, with these options."""

    def make_optimizer(schedule, **options):
        return make(schedule, **defaults | options)

    Parameter = inspect.Parameter
    names = [Parameter(name, Parameter.KEYWORD_ONLY, default=x) for name, x in defaults.items()]
    schedule = Parameter("schedule", Parameter.POSITIONAL_OR_KEYWORD)
    make_optimizer.__signature__ = inspect.Signature([schedule, *names])
    return make_optimizer


def muon(schedule, exclude_layers, **options):
    excluded = [*LOOKED_UP, *exclude_layers]
    return keras.optimizers.Muon(schedule, exclude_layers=excluded, **options)


ADAM = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-9, "amsgrad": False}
# {name in `training.optimizer`: function of (schedule, **options)}
OPTIMIZERS = Registry(
    "OPTIMIZERS",
    "training.optimizer",
    {
        "adam": with_options(Adam, **ADAM),
        "adamw": with_options(Adam, weight_decay=0.01, **ADAM),
        "adafactor": with_options(
            keras.optimizers.Adafactor,
            weight_decay=0.0,
            beta_2_decay=-0.8,
            epsilon_1=1e-30,
            epsilon_2=1e-3,
            clip_threshold=1.0,
        ),
        "lion": with_options(keras.optimizers.Lion, weight_decay=0.1, beta_1=0.9, beta_2=0.99),
        "muon": with_options(
            muon,
            weight_decay=0.01,
            momentum=0.95,
            nesterov=True,
            ns_steps=5,
            rms_rate=0.2,
            exclude_layers=(),
            adam_weight_decay=0.01,
            adam_beta_1=0.9,
            adam_beta_2=0.98,
            adam_lr_ratio=1.0,
            epsilon=1e-9,
        ),
    },
)
# Their updates have about the size of the learning rate, so a rate of 0.1 or more is a mistake.
ADAPTIVE = tuple(OPTIMIZERS.values())


# {option of our optimizers: its check}
CHECKS = {
    **dict.fromkeys(("weight_decay", "adam_weight_decay"), check_not_negative),
    **dict.fromkeys(("beta_1", "beta_2", "adam_beta_1", "adam_beta_2", "momentum"), check_rate),
    **dict.fromkeys(("epsilon", "epsilon_1", "epsilon_2", "clip_threshold"), check_positive),
    **dict.fromkeys(("rms_rate", "adam_lr_ratio"), check_positive),
    "ns_steps": check_integer,
}


def optimizer_options(name, options=""):
    """Returns "NAME=VALUE,NAME=VALUE" as a dict, checked without creating the optimizer."""
    make, options = OPTIMIZERS[name], read_options("optimizer_options", options)
    rate = next(iter(inspect.signature(make).parameters), None)
    options = checked_options("optimizer_options", make, options, given=(rate,), of=name)
    for option, value in options.items():
        if make in ADAPTIVE and option in CHECKS:
            CHECKS[option](f"optimizer_options: {option}", value)
    return options


def named_optimizer(name, schedule, options, model):
    """Returns the optimizer that `training.optimizer` and `training.optimizer_options` describe.

    Weight decay applies to the model's matrices, not to biases and norms, unless the optimizer
    already excludes weights itself.
    """
    optimizer_options(name, options)  # checks their values
    make = OPTIMIZERS[name]
    rate = next(iter(inspect.signature(make).parameters))
    optimizer = made("optimizer", OPTIMIZERS, name, options, **{rate: schedule})
    allowed = "a function of (schedule, **options) that returns a Keras optimizer"
    is_optimizer = isinstance(optimizer, keras.optimizers.Optimizer)
    check(is_optimizer, f"OPTIMIZERS[{name!r}]", optimizer, allowed)
    vectors = [weight for weight in model.trainable_variables if len(weight.shape) < 2]
    if vectors and not hasattr(optimizer, "_exclude_from_weight_decay"):
        optimizer.exclude_from_weight_decay(vectors)
    return optimizer


def refuse_moving_average(optimizer):
    """Rejects an optimizer whose averaged weights would never be copied into the model.

    `fit` copies them when training ends, but then a run could not be extended.
    """
    if optimizer.use_ema and not optimizer.ema_overwrite_frequency:
        raise ValueError(
            "An optimizer with use_ema=True has no effect here without ema_overwrite_frequency. "
            "Leave it out: t2t-train averages the newest checkpoints, as the paper does, and so "
            "does t2t_keras.training.checkpoints.average. Received: "
            f"{type(optimizer).__name__}(use_ema=True, ema_overwrite_frequency=None)"
        )
