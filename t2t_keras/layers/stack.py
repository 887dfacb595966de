"""The base classes of encoder and decoder: a block and a stack of blocks.

The sub-layers of a block and their order are in encoder.py and decoder.py.
"""

import dataclasses
from typing import Any

import keras

from t2t_keras.checks import check, check_integer
from t2t_keras.layers.attention import MultiHeadAttention
from t2t_keras.layers.feed_forward import FeedForward, serialized_activation
from t2t_keras.layers.keras_interface.adapted_layers import AdaptedLayers
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.keras_interface.weight_options import WeightOptions
from t2t_keras.layers.layer_norm import LayerNorm
from t2t_keras.layers.local_attention import LocalSelfAttention
from t2t_keras.layers.residual import Residual


@dataclasses.dataclass(frozen=True)
class BlockConfig:
    """The settings of a block, named as in `TransformerConfig`.

    Args:
        d_model: width of the block's input and output.
        d_ff: inner width of the feed-forward network.
        num_heads: h.
        d_k: width of a head's queries and keys. None: `d_model / num_heads`.
        d_v: width of a head's values. None: `d_model / num_heads`.
        dropout: rate on each sub-layer's output.
        attention_dropout: rate on the attention weights.
        activation: activation of the feed-forward network, see `FeedForward`.
        attention_bias: biases in the projections of the attention.
        pre_norm: norm before each sub-layer instead of after the sum.
        norm_epsilon: constant that the norms add to the variance.
        positions: name of a positional encoding; see `MultiHeadAttention`.
        attention: kind of scores; see `MultiHeadAttention`.
        residual, layer_norm: False leaves out the residual connections or the norms.
        neighbourhood: restricts self-attention; see `LocalSelfAttention`. None: full attention.
    """

    d_model: int
    d_ff: int
    num_heads: int
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation: Any = "relu"
    attention_bias: bool = False
    pre_norm: bool = False
    norm_epsilon: float = 1e-6
    positions: str | None = None
    attention: str = "scaled"
    residual: bool = True
    layer_norm: bool = True
    neighbourhood: int | None = None

    @classmethod
    def of(cls, config):
        """Returns the block's part of the settings of a model."""
        names = (field.name for field in dataclasses.fields(cls))
        return cls(**{name: getattr(config, name) for name in names})


class Block(AdaptedLayers, WeightOptions, OutputShapes, keras.layers.Layer):
    """Base class of `EncoderBlock`, `DecoderBlock` and blocks of one's own.

    A block of one's own has the methods of `EncoderBlock` or `DecoderBlock`.

    Args:
        *values, **settings: the fields of `BlockConfig`, initializers, regularizers and constraints
            (see `MultiHeadAttention`), and the arguments of any Keras layer.
    """

    def __init__(self, *values, **settings):
        names = [field.name for field in dataclasses.fields(BlockConfig)]
        ours = {name: settings.pop(name) for name in names if name in settings}
        super().__init__(**settings)
        self.config = BlockConfig(*values, **ours)

    def __getattr__(self, name):
        """Returns a setting of the block, such as `block.d_model`."""
        if name in BlockConfig.__dataclass_fields__ and "config" in self.__dict__:
            return getattr(self.config, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def make_self_attention(self, causal=False):
        settings = {"causal": causal, "positions": self.config.positions}
        if self.config.neighbourhood is None:
            return self.make_attention("self_attention", **settings)
        settings["neighbourhood"] = self.config.neighbourhood
        return self.make_attention("self_attention", LocalSelfAttention, **settings)

    def make_attention(self, name, attention_class=MultiHeadAttention, **settings):
        config = self.config
        attention = attention_class(
            num_heads=config.num_heads,
            d_model=config.d_model,
            d_k=config.d_k,
            d_v=config.d_v,
            dropout=config.attention_dropout,
            use_bias=config.attention_bias,
            attention=config.attention,
            dtype=self.dtype_policy,
            name="attention",
            **self.weight_options,
            **settings,
        )
        return self.make_residual(attention, name)

    def make_feed_forward(self, name):
        options = {"dtype": self.dtype_policy, "name": "network", **self.weight_options}
        config = self.config
        feed_forward = FeedForward(config.d_model, config.d_ff, config.activation, **options)
        return self.make_residual(feed_forward, name)

    def make_residual(self, sublayer, name):
        return Residual(
            sublayer,
            dropout=self.config.dropout,
            pre_norm=self.config.pre_norm,
            norm_epsilon=self.config.norm_epsilon,
            residual=self.config.residual,
            layer_norm=self.config.layer_norm,
            dtype=self.dtype_policy,
            name=name,
        )

    def get_config(self):
        config = {name: getattr(self.config, name) for name in BlockConfig.__dataclass_fields__}
        config["activation"] = serialized_activation(self.config.activation)
        return {**super().get_config(), **config}


class Stack(AdaptedLayers, OutputShapes, keras.layers.Layer):
    """Base class of `Encoder` and `Decoder`: `num_layers` blocks in a row.

    Pre-norm blocks are followed by one more norm. Post-norm blocks already end with one (§3.1).

    Args:
        num_layers: N.
        block_class: class of the blocks, or the name under which it is registered with Keras.
            None: the paper's block.
        name, dtype, trainable: arguments of any Keras layer.
        **block: settings of each block, see its class.
    """

    default_block = None

    def __init__(
        self, num_layers, *, block_class=None, name=None, dtype=None, trainable=True, **block
    ):
        # The blocks cast the inputs, and the stack passes the weights of a block on as they are.
        super().__init__(name=name, dtype=dtype, trainable=trainable, autocast=False)
        check_integer("num_layers", num_layers)
        if isinstance(block_class, str):
            block_class = keras.saving.get_registered_object(block_class)
        self.block_class = block_class or self.default_block
        is_block = isinstance(self.block_class, type) and issubclass(self.block_class, Block)
        check(is_block, "block_class", block_class, "a class derived from t2t_keras.layers.Block")
        self.blocks = [
            self.block_class(**block, dtype=self.dtype_policy, name=f"block_{i}")
            for i in range(num_layers)
        ]
        self.final_norm = None
        config = self.blocks[0].config
        if config.pre_norm and config.layer_norm:
            layer = {"dtype": self.dtype_policy, "name": "norm"}
            self.final_norm = LayerNorm(epsilon=config.norm_epsilon, **layer)

    def build_blocks(self, x_shape, *memory_shape):
        for block in self.blocks:
            block.build(x_shape, *memory_shape)
        if self.final_norm is not None:
            self.final_norm.build(x_shape)

    def call_blocks(self, x, *memory, return_weights, **masks):
        """Calls the blocks in turn; they inherit `training`. See `Encoder` and `Decoder`."""
        weights = {}
        for i, block in enumerate(self.blocks):
            x = block(x, *memory, **masks, return_weights=return_weights)
            if return_weights:
                x, block_weights = x
                weights |= {f"{i}/{name}": heads for name, heads in block_weights.items()}
        x = self.finish(x)
        return (x, weights) if return_weights else x

    def finish(self, x):
        return x if self.final_norm is None else self.final_norm(x)

    def get_config(self):
        own = {**super().get_config(), "num_layers": len(self.blocks)}
        settings = self.blocks[0].get_config()
        settings.pop("adapted", None)  # the stack records the adapted layers of all blocks
        config = {**settings, **own}
        if self.block_class is not self.default_block:
            config["block_class"] = keras.saving.get_registered_name(self.block_class)
        return config
