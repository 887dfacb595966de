"""Layer norm (§3.1), with a custom gradient in training."""

import keras
from keras import ops

from t2t_keras.layers.numerics import at_least_float32, upstream_gradient


@keras.saving.register_keras_serializable("t2t_keras")
class LayerNorm(keras.layers.LayerNormalization):
    """Keras' layer norm over the last axis, in float32 or wider, with a custom training gradient.

    Automatic differentiation of Keras' formula keeps two arrays of the size of the input for the
    backward pass; this layer keeps one.

    Args: see `keras.layers.LayerNormalization`; `axis`, `center` and `scale` must have their
        defaults.

    Example:

    >>> norm = LayerNorm(epsilon=1e-6)
    >>> outputs = norm(keras.random.normal((2, 10, 512)))  # [2, 10, 512]

    References:
        Ba et al. 2016 (arXiv 1607.06450).
    """

    def call(self, inputs, training=False):
        if not training:
            return super().call(inputs)
        x = at_least_float32(inputs)
        # TensorFlow does not accept variables as arguments of a custom gradient.
        gamma, beta = (ops.cast(ops.reshape(v, v.shape), x.dtype) for v in (self.gamma, self.beta))
        return ops.cast(normalized(x, gamma, beta, self.epsilon), self.compute_dtype)


def normalized(x, gamma, beta, epsilon):
    """Computes `γ z + β`, where z is `x` with mean 0 and variance 1 over the last axis."""

    @ops.custom_gradient
    def differentiable(x, gamma, beta):
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        inverse = ops.rsqrt(variance + epsilon)
        z = centred * inverse

        def gradient(*args, upstream=None):
            d_y = upstream_gradient(args, upstream)
            rows = tuple(range(len(x.shape) - 1))
            product = d_y * z
            # The means of γ d_y and γ d_y z over the last axis, as matrix products.
            column = gamma[:, None] / gamma.shape[0]
            mean, mean_of_product = ops.matmul(d_y, column), ops.matmul(product, column)
            d_x = (d_y * gamma - mean - z * mean_of_product) * inverse
            return d_x, ops.sum(product, axis=rows), ops.sum(d_y, axis=rows)

        return z * gamma + beta, gradient

    return differentiable(x, gamma, beta)
