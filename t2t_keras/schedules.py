"""The learning rate: the paper's (§5.3), and one with a given peak, for fine-tuning."""

import keras
from keras import ops

from t2t_keras.checks import check_boolean, check_integer, check_positive


@keras.saving.register_keras_serializable("t2t_keras")
class TransformerSchedule(keras.optimizers.schedules.LearningRateSchedule):
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

    def __init__(self, d_model, warmup_steps=4000, scale=1.0):
        super().__init__()
        check_integer("d_model", d_model)
        check_integer("warmup_steps", warmup_steps)
        check_positive("scale", scale)
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.scale = scale

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        rate = ops.minimum(step**-0.5, step * self.warmup_steps**-1.5)
        return self.scale * self.d_model**-0.5 * rate

    def get_config(self):
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "scale": self.scale,
        }


@keras.saving.register_keras_serializable("t2t_keras")
class PeakSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to a peak; then the inverse square root of the step, or no change.

    Steps are counted as in `TransformerSchedule`. With `decay`, both are the same curve: this one
    is named by its peak, which for fine-tuning is easier to choose than a factor.

    Args:
        peak: the learning rate after the warm-up.
        warmup_steps: number of steps until the peak.
        decay: whether the rate falls after the peak.

    Example:

    >>> schedule = PeakSchedule(peak=1e-4, warmup_steps=100)
    >>> optimizer = keras.optimizers.Adam(schedule)
    """

    def __init__(self, peak, warmup_steps, decay=True):
        super().__init__()
        check_positive("peak", peak)
        check_integer("warmup_steps", warmup_steps)
        check_boolean("decay", decay)
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.decay = decay

    def __call__(self, step):
        share = (ops.cast(step, "float32") + 1.0) / self.warmup_steps
        after = share**-0.5 if self.decay else 1.0
        return self.peak * ops.minimum(share, after)

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps, "decay": self.decay}
