"""Products of bfloat16 matrices with float32 results.

The logits need more digits than bfloat16 has, but their product with float32 operands takes GPUs
several times as long. Tensor cores multiply bfloat16 and add in float32. `keras.ops` offers no such
product, because its results have the type of the operands.
"""

import keras


def half_product_for(x, compiled):
    """Returns a function of two bfloat16 matrices that returns their product in float32, or None.

    Args:
        x: vectors that will be multiplied. None is returned unless they are in bfloat16.
        compiled: whether XLA compiles the step. TensorFlow's own kernels have no such product.
    """
    backend = keras.config.backend()
    if keras.backend.standardize_dtype(x.dtype) != "bfloat16" or not compiled:
        return None
    if backend == "jax":
        import jax.numpy as jnp

        return lambda a, b: jnp.matmul(a, b, preferred_element_type="float32")
    if backend == "tensorflow":
        import tensorflow as tf

        if not tf.executing_eagerly():
            return lambda a, b: tf.raw_ops.BatchMatMulV3(x=a, y=b, Tout=tf.float32)
    return None
