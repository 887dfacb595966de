"""The attention in every decoder layer of ConvS2S; its queries and values include embeddings."""

import keras
from keras import ops

from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.numerics import at_least_float32
from t2t_keras.rivals.additive_attention import LOWEST
from t2t_keras.rivals.gated_convolution import ROOT_HALF, scaled_linear


@keras.saving.register_keras_serializable("t2t_keras")
class MultiStepAttention(OutputShapes, keras.layers.Layer):
    """Dot-product attention whose contexts are added to x.

    Args:
        d_model: width of the embeddings, the keys and the values.

    Call arguments:
        x: outputs of a decoder convolution, `[batch, queries, units]`.
        embedded: embedded target, `[batch, queries, d_model]`. It is added to the queries.
        keys: `[batch, length, d_model]`.
        values: `[batch, length, d_model]`.
        mask: boolean `[batch, length]`, True at real tokens.

    Returns:
        Outputs `[batch, queries, units]` and weights `[batch, queries, length]`.

    References:
        Gehring et al. 2017 (arXiv 1705.03122), §3.3.
    """

    def __init__(self, d_model, **kwargs):
        super().__init__(**kwargs)
        self.d_model = d_model
        self.query = scaled_linear(d_model, dtype=self.dtype_policy, name="query")

    def build(self, x_shape):
        self.query.build(x_shape)
        self.output_layer = scaled_linear(x_shape[-1], dtype=self.dtype_policy, name="output")
        self.output_layer.build((None, None, self.d_model))

    def call(self, x, embedded, keys, values, mask):
        queries = (self.query(x) + embedded) * ROOT_HALF
        scores = at_least_float32(ops.matmul(queries, ops.transpose(keys, (0, 2, 1))))
        weights = ops.softmax(ops.where(mask[:, None], scores, LOWEST), axis=-1)
        contexts = ops.matmul(ops.cast(weights, values.dtype), values)
        return (x + self.output_layer(contexts)) * ROOT_HALF, weights

    def get_config(self):
        return {**super().get_config(), "d_model": self.d_model}
