"""GNMT-style model: stacks of LSTMs with residual connections and additive attention.

It differs from Wu et al. 2016 in one respect: the first decoder layer does not use the context of
the previous step. Training can therefore compute all positions of a layer in one call.
"""

import dataclasses

import keras
from keras import ops

from pipelines.checks import check, setting
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.scaled_dot_product import weighted_values
from t2t_keras.rivals.recurrence import Recurrence
from t2t_keras.rivals.rival import Rival, RivalConfig
from t2t_keras.sequence_model import check_ids


@dataclasses.dataclass
class GNMTConfig(RivalConfig):
    """The settings of `GNMT`. The defaults are from Wu et al. 2016.

    Args:
        units: width of the LSTMs.
        attention_units: width of the hidden layer of the attention.
        fast_forward: fast-forward connections (Zhou et al. 2016) instead of residual ones. A
            further input of a layer is the first half of W·x in the layer below, the contribution
            of its input x to its gates. So a linear path connects the inputs of all layers.
    """

    vocab_size: int = setting(32000, at_least=4)
    num_layers: int = setting(8, at_least=1)
    d_model: int = setting(1024, at_least=1)
    dropout: float = setting(0.2, at_least=0, below=1)
    source_vocab_size: int | None = setting(32000, at_least=4)
    tie_output: bool = False
    units: int = setting(1024, at_least=1)
    attention_units: int = setting(1024, at_least=1)
    fast_forward: bool = False

    widths = ("d_model", "units", "attention_units")
    attention_layers = 0, 0, 1

    def validate(self):
        super().validate()
        allowed = "at least 2: the layers above the first one read the context"
        check(self.layers[1] >= 2, "decoder_layers", self.layers[1], allowed)

    def use_of(self, path):
        """Returns 1.5 if half of the product is computed again for the layer above, else 1."""
        names = ["encoder_0_forward", *(f"encoder_{i}" for i in range(1, self.num_layers))]
        below = [*names[:-1], *(f"decoder_{i}" for i in range(self.layers[1] - 1))]
        layer, weight = path.split("/")[0], path.split("/")[-1]
        read_twice = self.fast_forward and layer in below and weight == "kernel"
        return 1.5 if read_twice else super().use_of(path)

    def attention_products(self, length):
        encoded = self.units if self.num_layers > 1 else 2 * self.units
        return (self.attention_units + encoded) * length


class AdditiveAttention(OutputShapes, keras.layers.Layer):
    """Attention with the weights softmax(v · tanh(W q + U k)) (Bahdanau et al. 2015, 1409.0473).

    Args:
        units: width of the hidden layer.

    Call arguments:
        x: queries `[batch, queries, width]`.
        keys: output of `key`, `[batch, length, units]`.
        memory: `[batch, length, memory_width]`.
        mask: boolean `[batch, length]`, True at real tokens.

    Returns:
        Contexts `[batch, queries, memory_width]` and weights `[batch, queries, length]`.
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        options = {"use_bias": False, "dtype": self.dtype_policy}
        self.query = keras.layers.Dense(units, **options, name="query")
        self.key = keras.layers.Dense(units, **options, name="key")
        self.score = keras.layers.Dense(1, **options, name="score")

    def build(self, x_shape, memory_shape):
        self.query.build(x_shape)
        self.key.build(memory_shape)
        self.score.build((None, None, self.key.units))

    def compute_output_shape(self, x_shape, memory_shape):
        return (*x_shape[:-1], memory_shape[-1])

    def call(self, x, keys, memory, mask):
        hidden = ops.tanh(self.query(x)[:, :, None] + keys[:, None])
        return weighted_values(self.score(hidden)[..., 0], memory, mask[:, None])


@keras.saving.register_keras_serializable("t2t_keras")
class GNMT(Rival):
    """Recurrent translation with attention (Wu et al. 2016).

    The first encoder layer is bidirectional. The first decoder layer computes the attention's
    queries, and all layers above it receive the attention's contexts. Residual connections start
    at the third layer. With `fast_forward`, all layers have fast-forward connections instead.

    For args and call arguments, see `Transformer`. `config` is a `GNMTConfig`.

    Example:

    >>> model = GNMT(GNMTConfig(vocab_size=1000, num_layers=2, d_model=64, units=64))
    >>> source = keras.ops.array([[5, 6, 7, 2, 0]])
    >>> outputs = model({"source": source, "target": keras.ops.array([[1, 8, 9]])})  # [1, 3, 1000]

    References:
        Wu et al. 2016 (arXiv 1609.08144); Zhou et al. 2016 (arXiv 1606.04199).
    """

    config_class = GNMTConfig

    def __init__(self, config=None, **kwargs):
        super().__init__(config, **kwargs)
        config, dtype = self.config, self.dtype_policy
        self.dropout = keras.layers.Dropout(config.dropout, dtype=dtype, name="dropout")

        def recurrence(name, **options):
            return Recurrence(config.units, **options, dtype=dtype, name=name)

        self.forward = recurrence("encoder_0_forward")
        self.backward = recurrence("encoder_0_backward", backward=True)
        self.encoder = [recurrence(f"encoder_{i}") for i in range(1, config.num_layers)]
        self.decoder = [recurrence(f"decoder_{i}") for i in range(config.decoder_layers)]
        self.attention = AdditiveAttention(config.attention_units, dtype=dtype, name="attention")
        self.output_layer = None
        if config.units != config.d_model:
            self.output_layer = keras.layers.Dense(
                config.d_model, use_bias=False, dtype=dtype, name="output"
            )
        self.create_weights()

    def build_layers(self):
        units, embedded = self.config.units, (None, None, self.config.d_model)
        both = (None, None, 2 * units)
        fast = 2 * units if self.config.fast_forward else 0
        self.dropout.build(embedded)
        self.forward.build(embedded)
        self.backward.build(embedded)
        for i, layer in enumerate(self.encoder):
            layer.build((None, None, (units if i else 2 * units) + fast))
        encoded = (None, None, units) if self.encoder else both
        self.attention.build((None, None, units), encoded)
        for i, layer in enumerate(self.decoder):
            layer.build((None, None, units + encoded[-1] + fast) if i else embedded)
        if self.output_layer is not None:
            self.output_layer.build((None, None, units))

    def encode(self, source, training=None):
        """Encodes source ids `[batch, length]` as vectors `[batch, length, units]`."""
        check_ids("source", source)
        mask = self.source_mask(source)
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
        x = self.dropout(self.source_embedding(source), training=training)
        below = self.forward, x
        x = ops.concatenate([self.forward(x), self.backward(x, lengths)], axis=-1)
        for i, layer in enumerate(self.encoder, 1):
            parts = self.dropout(x, training=training), *self.forwarded(*below)
            read = ops.concatenate(parts, axis=-1)
            x = self.after_layer("encoder", i, self.summed(i, x, layer(read)), mask, training)
            below = layer, read
        return x

    def forwarded(self, layer, x):
        """Returns a list of the vectors that a layer with input x forwards to the layer above."""
        return [layer.half_of_product(x)] if self.config.fast_forward else []

    def summed(self, index, x, y):
        """Returns the output y of a layer, plus its input x if the connection is residual."""
        return x + y if index > 1 and not self.config.fast_forward else y

    def remember(self, source, training=None):
        """Returns the attention's keys, the encoded source and its mask."""
        encoded = self.encode(source, training)
        return self.attention.key(encoded), encoded, self.source_mask(source)

    def stack(self, x, memory, mask=None, training=None, step=None):
        first, *others = self.decoder
        below = first, x
        x = self.summed(0, x, first(x, step=step))
        context, weights = self.attention(x, *memory)
        x = self.after_layer("decoder", 0, x, mask, training)
        for i, layer in enumerate(others, 1):
            parts = self.dropout(x, training=training), context, *self.forwarded(*below)
            read = ops.concatenate(parts, axis=-1)
            y = self.summed(i, x, layer(read, step=step))
            x = self.after_layer("decoder", i, y, mask, training)
            below = layer, read
        x = self.dropout(x, training=training)
        return (x if self.output_layer is None else self.output_layer(x)), [weights]

    def after_layer(self, stack, index, x, mask, training):
        """Returns the input of the next layer of a stack. `MoE` inserts its experts here."""
        return x
