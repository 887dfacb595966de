"""The shared embedding matrix (§3.4): it embeds tokens and projects vectors to logits."""

import keras
from keras import ops

from t2t_keras.checks import check_integer, check_positive
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.keras_interface.quantized_matrix import QuantizedMatrix
from t2t_keras.layers.keras_interface.weight_options import WeightOptions
from t2t_keras.layers.masks import padding_mask
from t2t_keras.layers.numerics import at_least_float32


class Masked(OutputShapes, keras.layers.Layer):
    """Attaches the Keras mask of ids, False at padding, to their vectors."""

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)  # ids may be floats
        self.built = True

    def call(self, ids, vectors):
        return vectors

    def compute_mask(self, ids, previous=None):
        return padding_mask(ids)


@keras.saving.register_keras_serializable("t2t_keras")
class SharedEmbedding(QuantizedMatrix, WeightOptions, OutputShapes, keras.layers.Layer):
    """Source embedding, target embedding and pre-softmax projection with one weight matrix.

    `layer(ids)` looks up vectors and multiplies them by √d_model. `layer(x, project=True)`, or
    `layer.project(x)`, computes logits without that factor. Only this layer owns the
    matrix, so it is counted and saved once. A model with several matrices has several layers.

    Args:
        vocab_size: number of rows of the matrix. Ids run from 0 (padding) to vocab_size − 1.
        d_model: number of columns of the matrix.
        output_bias: a bias on the logits. The paper has none.
        mask_zero: attach a Keras mask to the vectors, False at padding, for the layers that
            follow. `Transformer` sets it to False and passes its masks explicitly.
        scale: factor on the vectors. None: √d_model, as in the paper.
        embeddings_initializer, embeddings_regularizer, embeddings_constraint: of the matrix; see
            `keras.layers.Embedding`. Default: normal numbers with standard deviation 1 / √d_model.

    Call arguments:
        inputs: ids `[batch, length]`; or with `project` vectors `[..., d_model]`.
        project: compute logits instead of looking up vectors.

    Returns:
        `[batch, length, d_model]`; or logits `[..., vocab_size]`, in float32 even for vectors in
        half precision.

    Example:

    >>> embedding = SharedEmbedding(vocab_size=1000, d_model=64)
    >>> vectors = embedding(keras.ops.array([[5, 6, 2, 0]]))
    >>> outputs = embedding.project(vectors)  # [1, 4, 1000]

    References:
        Vaswani et al. 2017, §3.4; Press and Wolf 2017 (arXiv 1608.05859).
    """

    # The settings of `keras.layers.Embedding`.
    option_names = "embeddings_initializer", "embeddings_regularizer", "embeddings_constraint"

    def __init__(
        self, vocab_size, d_model, output_bias=False, mask_zero=True, scale=None, **kwargs
    ):
        # No autocast, because inputs and matrix must not be rounded to half precision: ids may be
        # floats, rows are looked up before they are rounded, and logits use the float32 matrix.
        super().__init__(autocast=False, **kwargs)
        check_integer("vocab_size", vocab_size)
        check_integer("d_model", d_model)
        if scale is not None:
            check_positive("scale", scale)
        self.vocab_size = vocab_size
        self.d_model = d_model
        self.output_bias = output_bias
        self.mask_zero = mask_zero
        self.scale = d_model**0.5 if scale is None else scale
        self.masked = Masked(name="masked") if mask_zero else None

    def build(self, inputs_shape=None):
        # Multiplied by √d_model, vectors have variance 1, the scale of the positional encoding.
        given = self.weight_options.items()
        options = {name.removeprefix("embeddings_"): value for name, value in given}
        if options.get("initializer") is None:
            options["initializer"] = keras.initializers.RandomNormal(stddev=self.d_model**-0.5)
        shape = (self.vocab_size, self.d_model)
        if self.quantization_mode is not None:
            self.quantized_build(shape, self.quantization_mode)
        else:
            self.matrix = self.add_weight(shape=shape, autocast=False, name="matrix", **options)
        self.bias = None
        if self.output_bias:
            self.bias = self.add_weight(
                shape=(self.vocab_size,), initializer="zeros", autocast=False, name="bias"
            )

    def call(self, inputs, project=False):
        if project:
            return self.logits(inputs)
        vectors = self.vectors(inputs)
        return self.masked(inputs, vectors) if self.mask_zero and self.masked else vectors

    def vectors(self, ids):
        vectors = self.rows(ops.cast(ids, "int32")) * self.scale
        return ops.cast(vectors, self.compute_dtype)

    def logits(self, x):
        x = at_least_float32(x)
        matrix = ops.cast(self.float_matrix(), x.dtype)
        if len(x.shape) == 2:
            # A decoding step has few rows. For them, the product of the transposes is up to ten
            # times as fast on CPUs, because the other product copies the matrix to transpose it.
            logits = ops.transpose(ops.matmul(matrix, ops.transpose(x)))
        else:
            logits = ops.matmul(x, ops.transpose(matrix))
        return logits if self.bias is None else logits + ops.cast(self.bias, x.dtype)

    @property
    def projection(self):
        """The matrix and the bias of the logits; the bias may be None."""
        return self.float_matrix(), self.bias

    def project(self, x):
        # Calls the layer, so that a functional model tracks and trains the matrix.
        return self(x, project=True)

    def output_shape_of(self, shape):
        # Ids are [batch, length]; the vectors of a sequence have one axis more.
        return (*shape, self.d_model) if len(shape) < 3 else (*shape[:-1], self.vocab_size)

    def get_config(self):
        names = "vocab_size", "d_model", "output_bias", "mask_zero", "scale"
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
