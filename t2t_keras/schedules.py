"""The learning rate (§5.3): linear warm-up, then the inverse square root of the step."""

import keras
from keras import ops

from t2t_keras.checks import check_integer, check_positive


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
