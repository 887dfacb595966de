"""The decoder (§3.1): a stack of blocks of self-attention, cross-attention and feed-forward.

`memory` is the output of the encoder; a language model has none. Calling the layers decodes a whole
target at once, for training and scoring; `decode_step` decodes one position at a time, for search.
"""

import inspect

import keras

from pipelines.registry import Registry
from t2t_keras.checks import check_sequence
from t2t_keras.layers.encoder import EncoderBlock
from t2t_keras.layers.stack import Block, BlockConfig, Stack
from t2t_keras.options import checked_options, read_options


@keras.saving.register_keras_serializable("t2t_keras")
class DecoderBlock(Block):
    """Causal self-attention, cross-attention and a feed-forward network, each inside `Residual`.

    Args:
        *values, **settings: see `Block`.
        cross_attention: False leaves out the cross-attention, as in a language model.

    Call arguments:
        x: `[batch, length, d_model]`. Position i sees positions up to i.
        memory: `[batch, memory_length, d_model]`; None without cross-attention.
        x_mask: boolean `[batch, length]`, True at real tokens. Padding at the end needs no mask,
            because no real position sees it. Default: the Keras mask of `x`.
        memory_mask: boolean `[batch, memory_length]`. Default: the Keras mask of `memory`.
        return_weights: also return `{"self_attention": [batch, heads, length, length],
            "cross_attention": [batch, heads, length, memory_length]}`.

    Returns:
        `[batch, length, d_model]`, and with `return_weights` also {name: weights}.

    Example:

    >>> block = DecoderBlock(d_model=512, d_ff=2048, num_heads=8)
    >>> x, memory = keras.random.normal((2, 10, 512)), keras.random.normal((2, 12, 512))
    >>> outputs = block(x, memory)  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.1.
    """

    def __init__(self, *values, cross_attention=True, **settings):
        super().__init__(*values, **settings)
        self.self_attention = self.make_self_attention(causal=True)
        self.cross_attention = self.make_attention("cross_attention") if cross_attention else None
        self.feed_forward = self.make_feed_forward("feed_forward")

    def build(self, x_shape, memory_shape=None):
        check_sequence("x", x_shape, self.config.d_model)
        self.check_memory(memory_shape)
        self.self_attention.build(x_shape)
        if self.cross_attention is not None:
            self.cross_attention.build(x_shape, memory_shape)
        self.feed_forward.build(x_shape)

    def call(self, x, memory=None, x_mask=None, memory_mask=None, return_weights=False):
        self.check_memory(memory, memory_mask)
        sublayers = {"self_attention": {"query_mask": x_mask}}
        if self.cross_attention is not None:
            sublayers["cross_attention"] = {"value": memory, "value_mask": memory_mask}
        weights = {}
        for name, arguments in sublayers.items():
            x = getattr(self, name)(x, **arguments, return_attention_scores=return_weights)
            if return_weights:
                x, weights[name] = x
        x = self.feed_forward(x)
        return (x, weights) if return_weights else x

    def check_memory(self, memory, memory_mask=None):
        """Raises `ValueError` if a memory is missing, or if it or its mask has no effect."""
        has_memory = self.cross_attention is not None
        if (memory is not None) == has_memory and (memory_mask is None or has_memory):
            return
        if has_memory:
            raise ValueError(
                "A decoder with cross-attention requires a `memory`; without an encoder, create "
                "it with cross_attention=False. Received: memory=None"
            )
        raise ValueError(
            "With cross_attention=False, a decoder has no `memory` and no `memory_mask`. "
            f"Received: a {'memory_mask' if memory is None else 'memory'}"
        )

    def get_config(self):
        return {**super().get_config(), "cross_attention": self.cross_attention is not None}

    def decode_step(self, x, step, cache, memory=None, memory_mask=None):
        """Decodes one position of every hypothesis.

        The hypotheses of a sentence attend to the same memory, which is not repeated for them.

        Args:
            x: `[rows, d_model]`; the hypotheses of a sentence are adjacent rows.
            step: the `DecodingStep` of the position.
            cache: keys and values of the earlier positions, from `empty_cache`.
            memory: keys and values of the memory, from `keys_and_values`; None without
                cross-attention.
            memory_mask: boolean, `[sentences, memory_length]` or `[sentences, 1, 1,
                memory_length]`.

        Returns:
            `[rows, d_model]`, and the cache with this position in it.
        """
        self.check_memory(memory, memory_mask)
        x, cache = self.self_attention(x, step=step, cache=cache)
        if self.cross_attention is not None:
            x = self.cross_attention(x, step=step, cache=memory, value_mask=memory_mask)
        return self.feed_forward(x), cache

    def empty_cache(self, sentences, length, beams=1):
        """Returns an empty cache: `KeysValues`, or in a block of one's own a list of them."""
        return self.self_attention.sublayer.empty_cache(sentences, length, beams)

    def keys_and_values(self, memory):
        self.check_memory(memory)
        return self.cross_attention.sublayer.keys_and_values(memory)


# The choices of `TransformerConfig.block`; README.md shows how to add one. {name: (class of the
# encoder's blocks, class of the decoder's blocks)}
BLOCKS = Registry("BLOCKS", "model.block", {"transformer": (EncoderBlock, DecoderBlock)})


def own_options(block):
    """Returns {name: parameter} of the keyword-only arguments that the class of a block adds."""
    found = {}
    for each in block.__mro__:
        if each in (EncoderBlock, DecoderBlock, Block):
            break
        if "__init__" in vars(each):
            own = inspect.signature(each.__init__).parameters
            found = {name: p for name, p in own.items() if p.kind == p.KEYWORD_ONLY} | found
    return {name: p for name, p in found.items() if name not in BlockConfig.__dataclass_fields__}


def blocks_with_options(name, text):
    """Returns arguments of `Encoder` and of `Decoder` for the settings `block`, `block_options`.

    An option is passed to the blocks that take it.
    """

    def block():
        pass

    known = [own_options(each) for each in BLOCKS[name]]
    block.__signature__ = inspect.Signature([*{**known[1], **known[0]}.values()])
    options = checked_options("block_options", block, read_options("block_options", text), of=name)
    taken = ({key: options[key] for key in options if key in each} for each in known)
    return [{"block_class": each} | own for each, own in zip(BLOCKS[name], taken, strict=True)]


@keras.saving.register_keras_serializable("t2t_keras")
class Decoder(Stack):
    """A stack of N decoder blocks.

    Args:
        num_layers: N.
        block_class: class of the blocks. None: `DecoderBlock`.
        **block: settings of each block, see `DecoderBlock`.

    Call arguments:
        x: `[batch, length, d_model]`, embeddings with positions.
        memory: `[batch, memory_length, d_model]`, the encoder's output; None with
            cross_attention=False.
        x_mask, memory_mask: see `DecoderBlock`.
        return_weights: also return the weights of every head, by block:
            `{"0/self_attention": …, "0/cross_attention": …, "1/self_attention": …}`.

    Returns:
        `[batch, length, d_model]`, and with `return_weights` also {name: weights}.

    Example:

    >>> decoder = Decoder(num_layers=6, d_model=512, d_ff=2048, num_heads=8)
    >>> x, memory = keras.random.normal((2, 10, 512)), keras.random.normal((2, 12, 512))
    >>> outputs = decoder(x, memory)  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.1.
    """

    default_block = DecoderBlock

    def build(self, x_shape, memory_shape=None):
        self.build_blocks(x_shape, memory_shape)

    def call(
        self, x, memory=None, x_mask=None, memory_mask=None, return_weights=False, training=None
    ):
        masks = {"x_mask": x_mask, "memory_mask": memory_mask}
        return self.call_blocks(x, memory, **masks, return_weights=return_weights)

    def decode_step(self, x, step, cache, memory=None, memory_mask=None):
        """Decodes one position. `cache` and `memory` are lists with one entry per block.

        `memory` is None with cross_attention=False.

        Returns:
            `[rows, d_model]`, and the list of updated caches.
        """
        caches = []
        memory = [None] * len(self.blocks) if memory is None else memory
        for block, block_cache, block_memory in zip(self.blocks, cache, memory, strict=True):
            x, block_cache = block.decode_step(x, step, block_cache, block_memory, memory_mask)
            caches.append(block_cache)
        return self.finish(x), caches

    def empty_cache(self, sentences, length, beams=1):
        return [block.empty_cache(sentences, length, beams) for block in self.blocks]

    def keys_and_values(self, memory):
        return [block.keys_and_values(memory) for block in self.blocks]
