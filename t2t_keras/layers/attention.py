"""Multi-head attention (§3.2.2).

Shapes: `h` heads, each with queries and keys of width d_k and values of width d_v. A head
is an axis, not a loop: the heads of all sentences are computed in one batched product.
"""

import keras
from keras import ops

from t2t_keras.checks import check, check_integer, check_rate, check_sequence
from t2t_keras.decoding_cache import KeysValues, cached_positions
from t2t_keras.layers.keras_interface.adapted_layers import AdaptedLayers
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.keras_interface.weight_options import WeightOptions
from t2t_keras.layers.masks import Bias, both, causal_mask, over_heads
from t2t_keras.layers.numerics import at_least_float32
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS
from t2t_keras.layers.relative_bias import offsets_in
from t2t_keras.layers.scaled_dot_product import SCORES, fused_attention, weighted_values


@keras.saving.register_keras_serializable("t2t_keras")
class MultiHeadAttention(AdaptedLayers, WeightOptions, OutputShapes, keras.layers.Layer):
    """`Concat(head_1, …, head_h) W^O`, `head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)`.

    It is called like `keras.layers.MultiHeadAttention`. Without `value`, a sequence attends to
    itself.

    Args:
        num_heads: h.
        d_model: width of the output.
        d_k: width of a head's queries and keys. None: `d_model / num_heads`.
        d_v: width of a head's values. None: `d_model / num_heads`.
        dropout: rate on the attention weights. The paper's base model has none here.
        causal: query i sees only keys up to i, like Keras' `use_causal_mask` in every call.
        use_bias: biases in the four projections. The paper has none.
        positions: name of a positional encoding; see positional_encoding.py. It has an effect only
            if it acts on queries and keys, or on scores, such as "t5" and "alibi"; the paper's
            encodings act on the embeddings.
        attention: kind of scores: "scaled" as in the paper, "unscaled" without the division by
            √d_k, or "additive", `v · tanh(q + k)`. See scaled_dot_product.py.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            kernel_constraint, bias_constraint: of the four projections; see `keras.layers.Dense`.

    Call arguments:
        query: `[batch, queries, width]`.
        value: `[batch, keys, width]`, or None for self-attention.
        key: a sequence as long as `value` that the keys are computed from. Default: `value`.
        query_mask, value_mask, key_mask: boolean, `[batch, length]`, True at real tokens. Default:
            the Keras masks of the sequences. A query sees the keys that the last two allow, in
            self-attention those that `query_mask` allows. What is computed for padding is ignored.
        attention_mask: boolean `[queries, keys]`, `[batch, queries, keys]` or
            `[batch, heads, queries, keys]`, True where a query may attend to a key. It is combined
            with all other masks.
        return_attention_scores: also return the weights of every head.
        use_causal_mask: acts like `causal` in this call.
        mask: another name of `query_mask`, which Keras uses for a single sequence.
        step, cache: for decoding one position at a time, see `decode_step`.

    Returns:
        `[batch, queries, d_model]`, and with `return_attention_scores` the weights
        `[batch, heads, queries, keys]` as a second result.

    Example:

    >>> attention = MultiHeadAttention(num_heads=8, d_model=512)
    >>> outputs = attention(keras.random.normal((2, 10, 512)))  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.2.2.
    """

    takes_value = True
    neighbourhood = None  # number of positions that a position sees; None: all
    fused = False  # for all layers: whether a fused kernel of JAX computes the heads

    def __init__(
        self,
        num_heads,
        d_model,
        d_k=None,
        d_v=None,
        dropout=0.0,
        causal=False,
        use_bias=False,
        positions=None,
        attention="scaled",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.d_model = d_model
        self.d_k, self.d_v = head_widths(d_model, num_heads, d_k, d_v)
        self.causal = causal
        self.use_bias = use_bias
        self.positions = positions
        self.encode_heads = self.relative_bias = None
        if positions is not None:
            kind = POSITIONAL_ENCODINGS[positions]
            self.encode_heads = kind.encode_heads
            if kind.bias is not None:
                layer = {"dtype": self.dtype_policy, "name": "relative_bias"}
                self.relative_bias = kind.bias(num_heads, causal, **layer)
        self.attention = attention
        self.scores = SCORES[attention]
        self.score_vector = None  # only additive attention has one
        check_rate("dropout", dropout)
        self.query = self.make_dense(num_heads * self.d_k, "query", use_bias=use_bias)
        self.key = self.make_dense(num_heads * self.d_k, "key", use_bias=use_bias)
        self.value = self.make_dense(num_heads * self.d_v, "value", use_bias=use_bias)
        self.output_projection = self.make_dense(d_model, "output", use_bias=use_bias)
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = query_shape if value_shape is None else value_shape
        key_shape = value_shape if key_shape is None else key_shape
        check_sequence("query", query_shape)
        check_sequence("value", value_shape)
        check_sequence("key", key_shape)
        self.query.build(query_shape)
        self.key.build(key_shape)
        self.value.build(value_shape)
        self.output_projection.build((*query_shape[:-1], self.num_heads * self.d_v))
        self.dropout.build(query_shape)
        if self.attention == "additive":
            self.score_vector = self.add_weight(
                shape=(self.num_heads, self.d_k),
                initializer=keras.initializers.RandomNormal(stddev=self.d_k**-0.5),
                name="score_vector",
            )
        if isinstance(self.relative_bias, keras.layers.Layer):
            self.relative_bias.build((None, None))

    def output_shape_of(self, shape):
        return (*shape[:-1], self.d_model)

    def call(
        self,
        query,
        value=None,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=False,
        use_causal_mask=False,
        mask=None,
        step=None,
        cache=None,
    ):
        if step is not None:
            return self.decode_step(query, step, cache, value_mask)
        if value is None:
            check(key is None, "key", key, "left out without `value`")
            value_mask = both(value_mask, query_mask if mask is None else mask)
            layers = self.query, self.key, self.value
            queries, keys, values = self.project(query, *layers, training=training)
        elif not self.takes_value:
            raise ValueError("Restricted attention has no `value`. Received: a value")
        elif key is None:
            (queries,) = self.project(query, self.query)
            keys, values = self.project(value, self.key, self.value, training=training)
        else:
            sequences = (query, self.query), (key, self.key), (value, self.value)
            queries, keys, values = (self.project(x, layer)[0] for x, layer in sequences)
        if self.encode_heads is not None:
            own, positions = (ops.arange(ops.shape(x)[2], dtype="int32") for x in (queries, keys))
            queries, keys = self.encode_heads(queries, own), self.encode_heads(keys, positions)
        mask = both(value_mask, key_mask)
        if attention_mask is not None and len(attention_mask.shape) == 2:
            attention_mask = ops.expand_dims(attention_mask, 0)
        mask = both(mask, attention_mask)
        causal = self.causal or use_causal_mask
        heads, weights = self.attend(queries, keys, values, mask, return_attention_scores, causal)
        outputs = self.output_projection(self.join_heads(heads))
        return (outputs, weights) if return_attention_scores else outputs

    def attend(self, queries, keys, values, mask, return_weights, causal):
        """Computes the attention of every head.

        Args:
            queries, keys, values: `[batch, heads, length, width of a head]`.
            mask: mask over the keys, or None.
            return_weights: whether the weights are needed.
            causal: whether position i sees only positions up to i.

        Returns:
            The heads, `[batch, heads, queries, d_v]`, and their weights, or None instead of weights
            that are not needed.
        """
        if causal:
            mask = both(mask, causal_mask(ops.shape(queries)[2], ops.shape(keys)[2]))
        mask, offsets = over_heads(mask), None
        if self.is_fused(mask, return_weights):
            return fused_attention(queries, keys, values, mask), None
        if self.relative_bias is not None:
            offsets = offsets_in(ops.shape(queries)[2], ops.shape(keys)[2])
        return self.heads_and_weights(queries, keys, values, mask, offsets)

    def is_fused(self, mask, return_weights):
        """Returns whether `fused_attention` computes the heads of this call."""
        is_plain = self.attention == "scaled" and self.relative_bias is None
        is_supported = is_plain and self.d_k == self.d_v and not self.dropout.rate
        is_supported = is_supported and keras.config.backend() == "jax"
        return self.fused and is_supported and not (return_weights or isinstance(mask, Bias))

    def heads_and_weights(self, queries, keys, values, mask, offsets=None):
        """Computes the heads and their weights.

        Args:
            queries, keys, values: `[batch, heads, ..., length, width of a head]`.
            mask: mask with the axes of the weights, or None.
            offsets: see `scores_of`.
        """
        return weighted_values(self.scores_of(queries, keys, offsets), values, mask, self.dropout)

    def scores_of(self, queries, keys, offsets=None):
        """Computes the scores, `[batch, heads, ..., queries, keys]`.

        Args:
            offsets: offsets of keys from queries, int32 `[queries, keys]`, for relative biases.
        """
        vector = () if self.score_vector is None else (self.score_vector,)
        scores = self.scores(queries, keys, *vector)
        if self.relative_bias is None:
            return scores
        scores, bias = at_least_float32(scores), self.relative_bias(offsets)
        while len(bias.shape) < len(scores.shape) - 1:
            bias = ops.expand_dims(bias, 1)  # an axis for the blocks of restricted attention
        return scores + ops.cast(bias, scores.dtype)

    def project(self, x, *layers, training=False):
        """Projects a sequence with each of several layers, and splits the results into heads.

        In training, all projections are one product, which is faster for many rows. A user may have
        replaced some of the layers, and the kernels of quantized ones are integers.
        """
        plain = all(type(x) is keras.layers.Dense and not x.quantization_mode for x in layers)
        if not (training and plain and self.d_k == self.d_v):
            return [self.split_heads(layer(x), layer.units // self.num_heads) for layer in layers]
        outputs = ops.matmul(x, ops.concatenate([layer.kernel for layer in layers], axis=1))
        if self.use_bias:
            outputs = outputs + ops.concatenate([layer.bias for layer in layers])
        return ops.split(self.split_heads(outputs, self.d_k), len(layers), axis=1)

    def split_heads(self, x, width):
        batch_size, length = ops.shape(x)[:2]
        x = ops.reshape(x, (batch_size, length, x.shape[-1] // width, width))
        return ops.transpose(x, (0, 2, 1, 3))  # [batch, heads, length, width]

    def join_heads(self, x):
        batch_size, _, length, width = ops.shape(x)
        x = ops.transpose(x, (0, 2, 1, 3))  # [batch, length, heads, width]
        return ops.reshape(x, (batch_size, length, self.num_heads * width))

    def decode_step(self, x, step, cache, value_mask=None):
        """Computes one position of every hypothesis, with keys and values from a cache.

        Args:
            x: `[rows, width]`; the hypotheses of a sentence are adjacent rows.
            step: a `DecodingStep`.
            cache: `KeysValues`. For causal self-attention, from the previous step or `empty_cache`;
                for attention over a memory, from `keys_and_values(memory)`.
            value_mask: mask over the memory.

        Returns:
            `[rows, d_model]`, and from causal self-attention also the cache with this position.
        """
        queries = step.split_heads(self.query(x), self.num_heads)
        if not self.causal:
            if self.relative_bias is not None or self.encode_heads is not None:
                raise ValueError(
                    f"Attention over a memory with positions={self.positions!r} has no decoding "
                    "steps, only calls on whole sequences"
                )
            heads, _ = self.heads_and_weights(queries, *cache, over_heads(value_mask))
            return self.output_projection(step.join_heads(heads))
        keys, values = self.key(x), self.value(x)
        if self.encode_heads is not None:
            keys = step.split_heads(keys, self.num_heads)
            queries, keys = (self.encode_heads(y, step.position) for y in (queries, keys))
            keys = step.join_heads(keys)
        heads, cache = step.attend(self, queries, keys, values, cache)
        return self.output_projection(step.join_heads(heads)), cache

    def keys_and_values(self, memory):
        """Projects a memory `[batch, length, width]` to `KeysValues`."""
        return KeysValues(*self.project(memory, self.key, self.value))

    def empty_cache(self, sentences, length, beams=1):
        """Returns a cache of zeros for `length` positions, which `decode_step` fills."""
        shape = sentences, self.num_heads, cached_positions(length, self.neighbourhood) * beams
        widths = self.d_k, self.d_v
        return KeysValues(*(ops.zeros((*shape, width), self.compute_dtype) for width in widths))

    def get_config(self):
        names = "num_heads", "d_model", "d_k", "d_v", "causal", "use_bias", "positions", "attention"
        settings = {name: getattr(self, name) for name in names}
        return {**super().get_config(), **settings, "dropout": self.dropout.rate}


def head_widths(d_model, num_heads, d_k=None, d_v=None):
    """Checks the sizes of multi-head attention and returns d_k and d_v.

    Both default to `d_model / num_heads`, so that all heads together cost as much as one head of
    full width (§3.2.2).
    """
    check_integer("d_model", d_model)
    check_integer("num_heads", num_heads)
    if d_k is None or d_v is None:
        allowed = f"a divisor of d_model={d_model} unless d_k and d_v are given"
        check(d_model % num_heads == 0, "num_heads", num_heads, allowed)
    d_k, d_v = (d_model // num_heads if width is None else width for width in (d_k, d_v))
    check_integer("d_k", d_k)
    check_integer("d_v", d_v)
    return d_k, d_v
