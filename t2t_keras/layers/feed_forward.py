"""The position-wise feed-forward network (§3.3)."""

import functools

import keras
from keras import ops

from t2t_keras.checks import check_choice, check_integer
from t2t_keras.layers.keras_interface.adapted_layers import AdaptedLayers
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.keras_interface.weight_options import WeightOptions

ACTIVATIONS = {
    "relu": ops.relu,
    "swish": ops.silu,
    "gelu": functools.partial(ops.gelu, approximate=False),
    # Approximations of GELU, which some systems also call "gelu".
    "gelu_tanh": functools.partial(ops.gelu, approximate=True),
    "gelu_sigmoid": lambda x: x * ops.sigmoid(1.702 * x),
}

# Members of `keras.activations` that are no activations, or change the width.
NOT_ACTIVATIONS = ("get", "serialize", "deserialize", "glu", "threshold")


def activation_names():
    """Returns the names of all activations: ours, then the others that Keras has."""
    others = [name for name in dir(keras.activations) if not name.startswith("_")]
    return [*ACTIVATIONS, *(x for x in others if x not in {*ACTIVATIONS, *NOT_ACTIVATIONS})]


def activation_function(activation):
    """Returns the function for a name, a callable or a config of one.

    A layer, such as `keras.layers.LeakyReLU()`, is copied, so that no two networks share it.
    """
    if isinstance(activation, keras.layers.Layer):
        return type(activation).from_config(activation.get_config())
    is_function = callable(activation) and not isinstance(activation, type)
    if not isinstance(activation, dict) and not is_function:
        check_choice("activation", activation, activation_names())
    ours = ACTIVATIONS.get(activation) if isinstance(activation, str) else None
    return ours or keras.activations.get(activation)


def serialized_activation(activation):
    """Returns an activation as it is saved in a layer's config."""
    if isinstance(activation, str | dict):
        return activation
    return keras.activations.serialize(activation)


@keras.saving.register_keras_serializable("t2t_keras")
class FeedForward(AdaptedLayers, WeightOptions, OutputShapes, keras.layers.Layer):
    """`max(0, x W₁ + b₁) W₂ + b₂`, with the same weights at every position.

    Args:
        d_model: width of the output.
        d_ff: width of the inner layer.
        activation: "relu" as in the paper, another name in `ACTIVATIONS` or `keras.activations`,
            or a function of one's own. To be saved, a function must be registered with Keras.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            kernel_constraint, bias_constraint: of both layers; see `keras.layers.Dense`.

    Call arguments:
        x: `[batch, length, width]`, or for a decoding step `[rows, width]`.

    Returns:
        `[batch, length, d_model]`.

    Example:

    >>> feed_forward = FeedForward(d_model=512, d_ff=2048)
    >>> outputs = feed_forward(keras.random.normal((2, 10, 512)))  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.3.
    """

    def __init__(self, d_model, d_ff, activation="relu", **kwargs):
        super().__init__(**kwargs)
        check_integer("d_model", d_model)
        check_integer("d_ff", d_ff)
        self.d_model = d_model
        self.d_ff = d_ff
        self.activation = activation
        self.inner = self.make_dense(d_ff, "inner", activation=activation_function(activation))
        self.outer = self.make_dense(d_model, "outer")

    def build(self, x_shape):
        self.inner.build(x_shape)
        if isinstance(self.inner.activation, keras.layers.Layer):
            self.inner.activation.build((*x_shape[:-1], self.d_ff))
        self.outer.build((*x_shape[:-1], self.d_ff))

    def output_shape_of(self, shape):
        return (*shape[:-1], self.d_model)

    def call(self, x):
        return self.outer(self.inner(x))

    def get_config(self):
        own = {"d_model": self.d_model, "d_ff": self.d_ff}
        own["activation"] = serialized_activation(self.activation)
        return {**super().get_config(), **own}
