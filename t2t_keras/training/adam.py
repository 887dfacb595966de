"""Adam (§5.3) with one TensorFlow kernel per weight array.

`keras.optimizers.Adam` computes the same formula in a dozen operations. Each reads and
writes arrays as large as the weights.
"""

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable("t2t_keras")
class Adam(keras.optimizers.Adam):
    """`keras.optimizers.Adam` with a fused update and the same settings.

    Keras' update is used with `amsgrad`, for sparse gradients, and for weights not in float32.
    """

    def update_step(self, gradient, variable, learning_rate):
        is_dense = isinstance(gradient, tf.Tensor)
        if self.amsgrad or not is_dense or variable.dtype != tf.float32:
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
