"""The embedding matrix in int8, for Keras' `model.quantize("int8")`.

Each row, which is the vector of a token, has its own scale. Only the weights are integers: vectors
and logits are computed in floats. Keras' own embedding also rounds the vectors before the logits,
but TensorFlow's product of int8 matrices takes several times as long as one of floats on CPUs.
"""

import keras
from keras import ops


class QuantizedMatrix:
    """Mixin of `SharedEmbedding` with the int8 form of its matrix; it comes before Keras' class."""

    quantization_config = None
    matrix_scale = None  # [vocab_size]; a row is divided by its scale

    def quantize(self, mode=None, type_check=True, config=None):
        """Replaces the matrix by integers and scales. Of Keras' modes, only "int8" is supported."""
        if mode != "int8":
            raise self._not_implemented_error(self.quantize)  # Keras' `model.quantize` warns
        quantizer = getattr(config, "weight_quantizer", None)
        quantizer = quantizer or keras.quantizers.AbsMaxQuantizer(axis=-1)
        values, scale = quantizer(self.matrix, to_numpy=True)
        shape = tuple(self.matrix.shape)
        self.quantization_config = config
        del self.matrix
        self.quantized_build(shape, mode)
        self.matrix.assign(values)
        self.matrix_scale.assign(ops.squeeze(scale, axis=-1))
        if self.quantization_mode is None:
            self.dtype_policy = f"int8_from_{self.dtype_policy.name}"

    def quantized_build(self, shape, mode):
        self.matrix = self.add_weight(
            shape=shape, initializer="zeros", dtype="int8", trainable=False, name="matrix"
        )
        self.matrix_scale = self.add_weight(
            shape=shape[:1],
            initializer="ones",
            trainable=False,
            autocast=False,
            name="matrix_scale",
        )
        self._is_quantized = True  # Keras refuses to quantize the layer again

    def quantized_call(self, *args, **kwargs):
        # Keras calls this method instead of `call`; `call` also computes with floats here.
        return self.call(*args, **kwargs)

    def rows(self, ids):
        """Returns the rows of some ids as floats."""
        rows = ops.take(self.matrix, ids, axis=0)
        if self.matrix_scale is None:
            return rows
        scale = ops.take(self.matrix_scale, ids, axis=0)
        return ops.cast(rows, scale.dtype) / ops.expand_dims(scale, -1)

    def float_matrix(self):
        """Returns the matrix as floats, `[vocab_size, d_model]`."""
        if self.matrix_scale is None:
            return self.matrix
        scale = ops.convert_to_tensor(self.matrix_scale)
        return ops.cast(self.matrix, scale.dtype) / ops.expand_dims(scale, -1)
