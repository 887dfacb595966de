"""The wrapper of every sub-layer (§3.1, §5.4): residual connection, dropout, layer norm."""

import keras

from t2t_keras.checks import check_positive, check_rate
from t2t_keras.layers.keras_interface.adapted_layers import AdaptedLayers
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.layer_norm import LayerNorm


@keras.saving.register_keras_serializable("t2t_keras")
class Residual(AdaptedLayers, OutputShapes, keras.layers.Layer):
    """`LayerNorm(x + Dropout(Sublayer(x)))`.

    With `pre_norm`, the norm is at the sub-layer's input: `x + Dropout(Sublayer(LayerNorm(x)))`.
    A stack of pre-norm layers needs one more norm at its end.

    If the sub-layer returns a tuple, its first element is added to `x`, and the others
    (attention weights, a cache) are returned unchanged.

    Args:
        sublayer: a layer that keeps the shape of its first argument.
        dropout: rate on the sub-layer's output, before the sum.
        pre_norm: norm before the sub-layer instead of after the sum.
        norm_epsilon: constant that the norm adds to the variance. The paper does not state it;
            1e-6 is the value in the authors' code.
        residual: False leaves out the residual connection, to show its effect.
        layer_norm: False leaves out the norm, to show its effect.

    Call arguments:
        x: `[batch, length, width]`, or any shape that the sub-layer accepts.
        value, key, return_attention_scores, use_causal_mask, **tensors: passed to the sub-layer if
            given.

    Example:

    >>> block = Residual(FeedForward(d_model=512, d_ff=2048), dropout=0.1)
    >>> outputs = block(keras.random.normal((2, 10, 512)))  # [2, 10, 512]
    """

    def __init__(
        self,
        sublayer,
        dropout=0.1,
        pre_norm=False,
        norm_epsilon=1e-6,
        residual=True,
        layer_norm=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_rate("dropout", dropout)
        check_positive("norm_epsilon", norm_epsilon)
        self.sublayer = sublayer
        self.pre_norm = pre_norm
        self.norm_epsilon = norm_epsilon
        self.residual = residual
        self.norm = None
        if layer_norm:
            self.norm = LayerNorm(epsilon=norm_epsilon, dtype=self.dtype_policy, name="norm")
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, x_shape, value_shape=None, key_shape=None):
        if self.norm is not None:
            self.norm.build(x_shape)
        self.dropout.build(x_shape)
        if not self.sublayer.built:
            shapes = (x_shape, value_shape, key_shape)
            self.sublayer.build(*(shape for shape in shapes if shape is not None))

    # `value` and `key` are named arguments because Keras builds the layer from the shapes of named
    # arguments, and the options because Keras accepts only tensors in the others. Masks are not
    # named, because Keras fills in the mask arguments of the sub-layer.
    def call(
        self,
        x,
        value=None,
        key=None,
        return_attention_scores=False,
        use_causal_mask=False,
        **tensors,
    ):
        named = {
            "value": value,
            "key": key,
            "return_attention_scores": return_attention_scores or None,
            "use_causal_mask": use_causal_mask or None,
        }
        tensors |= {name: each for name, each in named.items() if each is not None}
        before = self.norm if self.pre_norm else None
        after = None if self.pre_norm else self.norm
        outputs = self.sublayer(x if before is None else before(x), **tensors)
        outputs, *others = outputs if isinstance(outputs, tuple) else (outputs,)
        x = x + self.dropout(outputs) if self.residual else self.dropout(outputs)
        x = x if after is None else after(x)
        return (x, *others) if others else x

    def get_config(self):
        return {
            **super().get_config(),
            "sublayer": keras.saving.serialize_keras_object(self.sublayer),
            "dropout": self.dropout.rate,
            "pre_norm": self.pre_norm,
            "norm_epsilon": self.norm_epsilon,
            "residual": self.residual,
            "layer_norm": self.norm is not None,
        }

    @classmethod
    def from_config(cls, config):
        sublayer = keras.saving.deserialize_keras_object(config["sublayer"])
        return super().from_config({**config, "sublayer": sublayer})
