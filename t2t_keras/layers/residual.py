"""What stands around every sub-layer (§3.1, §5.4): residual connection, dropout, norm."""

import inspect

import keras

from t2t_keras.checks import check_boolean, check_positive, check_rate


@keras.saving.register_keras_serializable("t2t_keras")
class Residual(keras.layers.Layer):
    """`LayerNorm(x + Dropout(Sublayer(x)))`.

    With `pre_norm` the norm moves to the sub-layer's input, `x + Dropout(Sublayer(LayerNorm(x)))`,
    and a stack of such layers needs one more norm at its end.

    If the sub-layer returns a tuple, its first element takes part in the sum and the others
    (attention weights, a cache) are passed on.

    Args:
        sublayer: a layer that keeps the shape of its first argument.
        dropout: rate on the sub-layer's output, before the sum.
        pre_norm: norm before the sub-layer instead of after the sum.
        norm_epsilon: what the norm adds to the variance. The paper does not say; 1e-6 is
            what its authors' code used.

    Call arguments:
        x: `[batch, length, width]`.
        memory, mask, memory_mask: passed to the sub-layer if its `call` has such an argument.
        **options: passed to the sub-layer; no tensors.

    Example:

    >>> block = Residual(FeedForward(d_model=512, d_ff=2048), dropout=0.1)
    >>> outputs = block(keras.random.normal((2, 10, 512)))  # [2, 10, 512]
    """

    def __init__(self, sublayer, dropout=0.1, pre_norm=False, norm_epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        check_rate("dropout", dropout)
        check_boolean("pre_norm", pre_norm)
        check_positive("norm_epsilon", norm_epsilon)
        self.supports_masking = True
        self.sublayer = sublayer
        self.sublayer_arguments = tuple(inspect.signature(sublayer.call).parameters)
        self.pre_norm = pre_norm
        self.norm = layer_norm(norm_epsilon, self.dtype_policy)
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, x_shape, memory_shape=None):
        self.norm.build(x_shape)
        self.dropout.build(x_shape)
        if not self.sublayer.built:
            shapes = (x_shape,) if memory_shape is None else (x_shape, memory_shape)
            self.sublayer.build(*shapes)

    def call(self, x, memory=None, mask=None, memory_mask=None, **options):
        tensors = {"memory": memory, "mask": mask, "memory_mask": memory_mask}
        taken = {
            name: tensor
            for name, tensor in tensors.items()
            if tensor is not None and name in self.sublayer_arguments
        }
        return self.around(self.sublayer, x, **taken, **options)

    def around(self, function, x, *args, **kwargs):
        """The formula, around the sub-layer itself or around one of its methods."""
        outputs = function(self.norm(x) if self.pre_norm else x, *args, **kwargs)
        outputs, *rest = outputs if isinstance(outputs, tuple) else (outputs,)
        x = x + self.dropout(outputs)
        x = x if self.pre_norm else self.norm(x)
        return (x, *rest) if rest else x

    def get_config(self):
        return {
            **super().get_config(),
            "sublayer": keras.saving.serialize_keras_object(self.sublayer),
            "dropout": self.dropout.rate,
            "pre_norm": self.pre_norm,
            "norm_epsilon": self.norm.epsilon,
        }

    @classmethod
    def from_config(cls, config):
        sublayer = keras.saving.deserialize_keras_object(config["sublayer"])
        return cls(**{**config, "sublayer": sublayer})


def layer_norm(epsilon, dtype):
    """The norm of this package: over the last axis, computed in float32 at least."""
    return keras.layers.LayerNormalization(epsilon=epsilon, dtype=dtype, name="norm")
