"""Multi-head attention (§3.2.2).

Shapes: `h` heads, each with queries and keys of width d_k and values of width d_v. A head
is an axis, not a loop: the heads of all sentences are computed in one batched product.
cached_attention.py decodes one position at a time.
"""

import keras
from keras import ops

from t2t_keras.checks import check_boolean, check_rate, check_sequence
from t2t_keras.layers.attention_scores import scores_named
from t2t_keras.layers.cached_attention import (
    CachedAttention,
    can_be_joined,
    joined_projections,
)
from t2t_keras.layers.head_widths import head_widths
from t2t_keras.layers.keras_interface.adapted_layers import AdaptedLayers
from t2t_keras.layers.keras_interface.call_arguments import (
    check_keras_arguments,
    check_masks,
    in_our_names,
)
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.keras_interface.weight_options import (
    DENSE_OPTIONS,
    for_one_layer,
    serialized,
    taken_from,
)
from t2t_keras.layers.masks import both, causal_mask, over_heads, pairs_mask
from t2t_keras.layers.numerics import at_least_float32
from t2t_keras.layers.positional_encoding import kind_of_positions
from t2t_keras.layers.relative_bias import offsets_in
from t2t_keras.layers.scaled_dot_product import weighted_values


@keras.saving.register_keras_serializable("t2t_keras")
class MultiHeadAttention(AdaptedLayers, OutputShapes, CachedAttention, keras.layers.Layer):
    """`Concat(head_1, …, head_h) W^O`, `head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)`.

    Without `memory`, a sequence attends to itself; with `memory`, it attends to the memory. Calls
    in the form of `keras.layers.MultiHeadAttention` also work, `attention(query, value, key)`.

    Args:
        num_heads: h.
        d_model: width of the output.
        d_k: width of a head's queries and keys. None: `d_model / num_heads`.
        d_v: width of a head's values. None: `d_model / num_heads`.
        dropout: rate on the attention weights. The paper's base model has none here.
        causal: query i sees only keys up to i, also those of a memory, as with Keras'
            `use_causal_mask`.
        use_bias: biases in the four projections. The paper has none.
        positions: name of a positional encoding; see positional_encoding.py. It has an effect only
            if it acts on queries and keys, or on scores, such as "t5" and "alibi"; the paper's
            encodings act on the embeddings.
        attention: kind of scores: "scaled" as in the paper, "unscaled" without the division by
            √d_k, or "additive", `v · tanh(q + k)`. See attention_scores.py.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            kernel_constraint, bias_constraint: of the four projections; see `keras.layers.Dense`.

    Call arguments:
        queries: `[batch, queries, width]`.
        memory: `[batch, keys, width]`, or None for self-attention.
        mask: for self-attention, boolean `[batch, keys]`, `[batch, queries, keys]` or
            `[batch, heads, queries, keys]`, True where a query may attend to a key. Default:
            the Keras mask of `queries`.
        memory_mask: mask over `memory`, in any of these shapes. Default: the Keras mask of
            `memory`.
        return_weights: also return the weights of every head.
        key: a sequence as long as `memory` that the keys are computed from; the values are those
            of `memory`. Default: `memory`.
        key_mask, queries_mask: masks over `key` and `queries`. Default: their Keras masks.
            In self-attention, `queries_mask` replaces a missing `mask`; over a memory it has no
            effect, because what is computed for padding is ignored.
        attention_mask: boolean `[queries, keys]`, `[batch, queries, keys]` or
            `[batch, heads, queries, keys]`, True where a query may attend to a key. It is combined
            with all other masks, as in Keras.
        use_causal_mask: acts like `causal` in this call; refused with relative biases.
        step, cache: for decoding one position at a time, see `decode_step`.

    Returns:
        `[batch, queries, d_model]`, and with `return_weights` the weights
        `[batch, heads, queries, keys]` as a second result.

    Example:

    >>> attention = MultiHeadAttention(num_heads=8, d_model=512)
    >>> outputs = attention(keras.random.normal((2, 10, 512)))  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.2.2.
    """

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
        weight_options = taken_from(kwargs, DENSE_OPTIONS)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.weight_options = weight_options
        self.num_heads = num_heads
        self.d_model = d_model
        self.d_k, self.d_v = head_widths(d_model, num_heads, d_k, d_v)
        self.causal = causal
        self.use_bias = use_bias
        self.positions = positions
        self.encode_heads = self.relative_bias = None
        if positions is not None:
            kind = kind_of_positions(positions)
            self.encode_heads = kind.encode_heads
            if kind.bias is not None:
                layer = {"dtype": self.dtype_policy, "name": "relative_bias"}
                self.relative_bias = kind.bias(num_heads, causal, **layer)
        self.attention = attention
        self.scores = scores_named(attention)
        self.score_vector = None  # only additive attention has one
        check_boolean("causal", causal)
        check_boolean("use_bias", use_bias)
        check_rate("dropout", dropout)

        def projection(width, name):
            options = {"name": name, **for_one_layer(self.weight_options)}
            return keras.layers.Dense(width, use_bias=use_bias, dtype=self.dtype_policy, **options)

        self.query = projection(num_heads * self.d_k, "query")
        self.key = projection(num_heads * self.d_k, "key")
        self.value = projection(num_heads * self.d_v, "value")
        self.output_projection = projection(d_model, "output")
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, queries_shape, memory_shape=None, key_shape=None):
        memory_shape = queries_shape if memory_shape is None else memory_shape
        key_shape = memory_shape if key_shape is None else key_shape
        check_sequence("queries", queries_shape)
        check_sequence("memory", memory_shape)
        check_sequence("key", key_shape)
        self.query.build(queries_shape)
        self.key.build(key_shape)
        self.value.build(memory_shape)
        self.output_projection.build((*queries_shape[:-1], self.num_heads * self.d_v))
        self.dropout.build(queries_shape)
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

    check_arguments = staticmethod(check_masks)

    def __call__(self, *args, **kwargs):
        args, kwargs = in_our_names(args, kwargs)
        return super().__call__(*args, **kwargs)

    def call(
        self,
        queries,
        memory=None,
        mask=None,
        memory_mask=None,
        return_weights=False,
        step=None,
        cache=None,
        training=False,
        key=None,
        key_mask=None,
        queries_mask=None,
        attention_mask=None,
        use_causal_mask=False,
    ):
        self.check_arguments(memory, mask, memory_mask, step, cache)
        check_keras_arguments(memory, key, attention_mask, use_causal_mask, step)
        if use_causal_mask and self.relative_bias is not None and not self.causal:
            raise ValueError(
                f"The biases of positions={self.positions!r} depend on `causal`; set causal=True "
                "when the layer is created. Received: use_causal_mask=True"
            )
        if step is not None:
            return self.decode_step(queries, step, cache, memory_mask)
        is_self_attention = memory is None
        if is_self_attention:
            memory, memory_mask = queries, queries_mask if mask is None else mask
            layers = self.query, self.key, self.value
            queries, keys, values = self.project(queries, *layers, training=training)
        elif key is None:
            (queries,) = self.project(queries, self.query)
            keys, values = self.project(memory, self.key, self.value, training=training)
        else:
            sequences = (queries, self.query), (key, self.key), (memory, self.value)
            queries, keys, values = (self.project(x, layer)[0] for x, layer in sequences)
        if self.encode_heads is not None:
            own, positions = (ops.arange(ops.shape(x)[2], dtype="int32") for x in (queries, keys))
            queries, keys = self.encode_heads(queries, own), self.encode_heads(keys, positions)
        mask = both(memory_mask, key_mask)
        if attention_mask is not None:
            lengths = queries.shape[2], keys.shape[2]
            mask = both(mask, pairs_mask(attention_mask, *lengths))
        causal = self.causal or use_causal_mask
        if causal and not is_self_attention:
            lengths = ops.shape(queries)[2], ops.shape(keys)[2]
            mask, causal = both(mask, causal_mask(*lengths)), False
        heads, weights = self.attend(queries, keys, values, mask, return_weights, causal)
        outputs = self.output_projection(self.join_heads(heads))
        return (outputs, weights) if return_weights else outputs

    def attend(self, queries, keys, values, mask, return_weights, causal):
        """Computes the attention of every head.

        Args:
            queries, keys, values: `[batch, heads, length, width of a head]`.
            mask: mask over the keys, or None.
            return_weights: whether the weights are needed.
            causal: whether position i sees only positions up to i.

        Returns:
            The heads, `[batch, heads, queries, d_v]`, and their weights. A subclass may return
            None instead of weights that are not needed.
        """
        if causal:
            mask = both(mask, causal_mask(ops.shape(queries)[2]))
        mask, offsets = over_heads(mask), None
        if self.relative_bias is not None:
            offsets = offsets_in(ops.shape(queries)[2], ops.shape(keys)[2])
        return self.heads_and_weights(queries, keys, values, mask, offsets)

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
            bias = ops.expand_dims(bias, 1)  # the blocks of restricted attention
        return scores + ops.cast(bias, scores.dtype)

    def project(self, x, *layers, training=False):
        """Projects a sequence with each of several layers, and splits the results into heads.

        In training, all projections are one product, which is faster for many rows.
        """
        if training and self.d_k == self.d_v and can_be_joined(layers):
            heads = self.split_heads(joined_projections(x, layers), self.d_k)
            return ops.split(heads, len(layers), axis=1)
        return [self.split_heads(layer(x), layer.units // self.num_heads) for layer in layers]

    def split_heads(self, x, width):
        batch_size, length = ops.shape(x)[:2]
        x = ops.reshape(x, (batch_size, length, x.shape[-1] // width, width))
        return ops.transpose(x, (0, 2, 1, 3))  # [batch, heads, length, width]

    def join_heads(self, x):
        batch_size, _, length, width = ops.shape(x)
        x = ops.transpose(x, (0, 2, 1, 3))  # [batch, length, heads, width]
        return ops.reshape(x, (batch_size, length, self.num_heads * width))

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "d_model": self.d_model,
            "d_k": self.d_k,
            "d_v": self.d_v,
            "dropout": self.dropout.rate,
            "causal": self.causal,
            "use_bias": self.use_bias,
            "positions": self.positions,
            "attention": self.attention,
            **serialized(self.weight_options),
        }
