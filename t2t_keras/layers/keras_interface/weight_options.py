"""Keras' initializers, regularizers and constraints of weights, as settings of the layers."""

import keras

# Settings of layers with `Dense` sub-layers: those of `keras.layers.Dense`.
DENSE_OPTIONS = (
    "kernel_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "bias_regularizer",
    "kernel_constraint",
    "bias_constraint",
)


class WeightOptions:
    """Mixin of layers with such settings; it comes before Keras' class.

    A class is replaced by an instance, as in Keras. Options that are not given stay Keras'
    defaults.
    """

    option_names = DENSE_OPTIONS

    def __init__(self, **kwargs):
        given = {name: kwargs.pop(name) for name in self.option_names if name in kwargs}
        super().__init__(**kwargs)
        self.weight_options = {n: x() if isinstance(x, type) else x for n, x in given.items()}

    def make_dense(self, units, name, **options):
        """Returns a `Dense` with the initializers, regularizers and constraints of this layer.

        A Keras initializer without a seed draws the same numbers each time, so every sub-layer gets
        a copy with its own seed.
        """
        for option, value in self.weight_options.items():
            is_initializer = isinstance(value, keras.initializers.Initializer)
            options[option] = value.clone() if is_initializer else value
        return keras.layers.Dense(units, name=name, dtype=self.dtype_policy, **options)

    def get_config(self):
        saved = {
            name: value
            if value is None or isinstance(value, str | dict)
            else keras.saving.serialize_keras_object(value)
            for name, value in self.weight_options.items()
        }
        return {**super().get_config(), **saved}
