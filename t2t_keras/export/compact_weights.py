"""Weights stored as bfloat16 or int8, restored to float32 when the graph is called."""

import functools

import keras
import tensorflow as tf

from t2t_keras.checks import check_choice
from t2t_keras.export.formats import SAVED_MODEL_DTYPES
from t2t_keras.layers.keras_interface.adapted_layers import refuse_quantized


class CompactWeights(tf.Module):
    """The weights of a model, as a SavedModel stores them.

    For int8, Keras' quantization stores each matrix as integers with one scale per output (per
    token for the embedding). Vectors stay in float32, because they are small.

    Args:
        model: a built Keras model in float32.
        dtype: one of `SAVED_MODEL_DTYPES`.
    """

    def __init__(self, model, dtype):
        super().__init__()
        check_choice("dtype", dtype, SAVED_MODEL_DTYPES)
        self.stored = []
        self.variables_of_model = []
        if dtype == "float32":
            return  # the model's own variables are stored
        refuse_quantized(model, f"A SavedModel in {dtype}")
        embeddings = model.embedding, model.source_embedding, model.output_embedding
        for variable in model.variables:
            if len(variable.shape) < 2:
                continue
            if dtype == "bfloat16":
                parts = [keras.ops.cast(variable.value, "bfloat16")]
            else:
                of_tokens = any(variable is embedding.matrix for embedding in embeddings)
                output_axis = 1 if of_tokens else 0
                parts = keras.quantizers.abs_max_quantize(variable.value, axis=output_axis)
            self.stored.append([tf.Variable(part, trainable=False) for part in parts])
            self.variables_of_model.append(variable)

    def used_by(self, function):
        """Wraps a function so that it computes with the restored weights."""

        @functools.wraps(function)
        def with_weights(*arguments):
            restored_variables = [
                (variable, restored(*parts))
                for variable, parts in zip(self.variables_of_model, self.stored, strict=True)
            ]
            with keras.StatelessScope(state_mapping=restored_variables):
                return function(*arguments)

        return with_weights


def restored(values, scale=None):
    values = tf.cast(values, tf.float32)
    return values if scale is None else values / tf.cast(scale, tf.float32)
