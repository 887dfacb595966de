"""Learning rate schedules: the paper's (§5.3), one with a given peak, and all by name."""

import dataclasses

import keras
from keras import ops

from pipelines.checks import setting, validate
from pipelines.registry import Registry
from t2t_keras.checks import check
from t2t_keras.options import made

DECAYS = ("inverse_sqrt", "linear", "constant")


class Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """Base class of schedules that are dataclasses of their settings."""

    def __post_init__(self):
        validate(self)

    def get_config(self):
        return dataclasses.asdict(self)


@keras.saving.register_keras_serializable("t2t_keras")
@dataclasses.dataclass(eq=False)
class TransformerSchedule(Schedule):
    """`d_model^−0.5 · min(step^−0.5, step · warmup_steps^−1.5)`, with steps counted from 1.

    Keras counts steps from 0, so its step s is the formula's s + 1. The first update therefore has
    a small learning rate instead of 0.

    Args:
        d_model: width of the model; a wider model gets a smaller learning rate.
        warmup_steps: number of steps until the peak. The paper uses 4000.
        scale: factor on the learning rate. The paper: 1.

    Example:

    >>> schedule = TransformerSchedule(d_model=512)
    >>> optimizer = keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)

    References:
        Vaswani et al. 2017, §5.3.
    """

    d_model: int = setting(dataclasses.MISSING, at_least=1)
    warmup_steps: int = setting(4000, at_least=1)
    scale: float = setting(1.0, above=0)

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        rate = ops.minimum(step**-0.5, step * self.warmup_steps**-1.5)
        return self.scale * self.d_model**-0.5 * rate


@keras.saving.register_keras_serializable("t2t_keras")
@dataclasses.dataclass(eq=False)
class PeakSchedule(Schedule):
    """Linear warm-up to a peak, and a decay after it.

    Steps are counted as in `TransformerSchedule`. With "inverse_sqrt", both schedules are the same
    curve. This one is specified by its peak, which is easier to choose for fine-tuning.

    Args:
        peak: the learning rate after the warm-up.
        warmup_steps: number of steps until the peak.
        decay: "inverse_sqrt"; "linear", which reaches 0 right after `steps`; or "constant".
        steps: with "linear", the number of steps of the whole training.

    Example:

    >>> schedule = PeakSchedule(peak=1e-4, warmup_steps=100)
    >>> optimizer = keras.optimizers.Adam(schedule)
    """

    peak: float = setting(dataclasses.MISSING, above=0)
    warmup_steps: int = setting(dataclasses.MISSING, at_least=1)
    decay: str = setting("inverse_sqrt", choices=DECAYS)
    steps: int | None = setting(None, at_least=1)

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        if self.decay == "constant":
            after_peak = 1.0
        elif self.decay == "linear":
            end = self.steps + 1.0
            after_peak = ops.maximum((end - step) / (end - self.warmup_steps), 0.0)
        else:
            after_peak = (step / self.warmup_steps) ** -0.5
        return self.peak * ops.minimum(step / self.warmup_steps, after_peak)


def paper(d_model, warmup_steps, learning_rate):
    return TransformerSchedule(d_model, warmup_steps, scale=learning_rate)


def of_peak(decay):
    return lambda learning_rate, warmup_steps, steps: PeakSchedule(
        learning_rate, warmup_steps, decay, steps
    )


OF_PEAK = {decay: of_peak(decay) for decay in DECAYS}  # schedules whose peak is the learning rate
# {name in `training.schedule`: function that returns the schedule. Its arguments are those of
# d_model, learning_rate, warmup_steps and steps that it needs, and its options}
SCHEDULES = Registry("SCHEDULES", "training.schedule", {"paper": paper, **OF_PEAK})


def named_schedule(name, options="", **facts):
    """Returns the schedule that `training.schedule` and `training.schedule_options` describe.

    `facts` are d_model, learning_rate, warmup_steps and steps.
    """
    schedule = made("schedule", SCHEDULES, name, options, **facts)
    allowed = "a function that returns a keras.optimizers.schedules.LearningRateSchedule"
    is_schedule = isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule)
    check(is_schedule, f"SCHEDULES[{name!r}]", schedule, allowed)
    return schedule


def rate_of_last_update(optimizer):
    """Returns the learning rate of an optimizer's last update, or before the first, of the first.

    `optimizer.learning_rate` is the rate of the next update.
    """
    rate = optimizer._learning_rate
    if isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
        rate = rate(max(int(optimizer.iterations.numpy()) - 1, 0))
    return float(rate)


def constant_rate(optimizer):
    """Returns the learning rate of an optimizer as it is now, or None if it has a schedule."""
    rate = optimizer._learning_rate
    return float(rate) if isinstance(rate, keras.Variable) else None
