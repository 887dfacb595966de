"""Adam (§5.3), its update done by one TensorFlow kernel a weight.

The same formula as `keras.optimizers.Adam`, which spells it out in a dozen operations, each of
which goes through all weights and moments in memory once more.
"""

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable("t2t_keras")
class Adam(keras.optimizers.Adam):
    """`keras.optimizers.Adam` for TensorFlow with a fused update; the same settings.

    `amsgrad`, sparse gradients and weights of less than float32 take Keras' way.
    """

    def update_step(self, gradient, variable, learning_rate):
        whole = isinstance(gradient, tf.Tensor) and variable.dtype == tf.float32
        if self.amsgrad or not whole:
            return super().update_step(gradient, variable, learning_rate)
        step = ops.cast(self.iterations + 1, "float32")
        index = self._get_variable_index(variable)
        return tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=tf.pow(self.beta_1, step),
            beta2_power=tf.pow(self.beta_2, step),
            lr=tf.cast(learning_rate, tf.float32),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )
