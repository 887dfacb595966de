"""Weights in fewer bytes, from which a graph makes float32 ones when it is called."""

import functools

import keras
import tensorflow as tf

KINDS = ("float32", "bfloat16", "int8")


class CompactWeights(tf.Module):
    """The weights of a model as they are stored in a SavedModel.

    `int8` holds for each matrix integers and a scale for each of its outputs (for the embedding:
    for each token), by Keras' own quantization. What is no matrix stays in float32: it is little.

    Args:
        model: a built Keras model in float32.
        kind: one of `KINDS`.
    """

    def __init__(self, model, kind):
        super().__init__()
        self.stored = []
        self.variables_of_model = []
        if kind == "float32":
            return  # the model's own will do
        for variable in model.variables:
            if len(variable.shape) < 2:
                continue
            if kind == "bfloat16":
                parts = [keras.ops.cast(variable.value, "bfloat16")]
            else:
                of_outputs = 1 if variable is model.embedding.matrix else 0
                parts = keras.quantizers.abs_max_quantize(variable.value, axis=of_outputs)
            self.stored.append([tf.Variable(part, trainable=False) for part in parts])
            self.variables_of_model.append(variable)

    def used_by(self, function):
        """The function, in which the model's weights are made of the stored ones."""

        @functools.wraps(function)
        def with_weights(*arguments):
            whole = [
                (variable, restored(*parts))
                for variable, parts in zip(self.variables_of_model, self.stored, strict=True)
            ]
            with keras.StatelessScope(state_mapping=whole):
                return function(*arguments)

        return with_weights


def restored(integers, scale=None):
    values = tf.cast(integers, tf.float32)
    return values if scale is None else values / tf.cast(scale, tf.float32)
