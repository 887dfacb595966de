"""Label-smoothed cross-entropy of tokens (§5.4), from logits or, in chunks, from vectors.

The target distribution q is 1 − ε on the label, with ε spread evenly over the other V − 1 tokens.
It is never built. The gradient with respect to the logits z is p − q. It is written out because
automatic differentiation would process an array of the size of the logits once for each term.

The logits take V numbers per token, far more than any other array of the model. `chunked_sums`
computes them for a chunk of tokens, reduces them to sums and gradients, and discards them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.layers.numerics import at_least_float32, upstream_gradient

# Maximum number of logits in a chunk: 128 MiB in float32. Measured in training/RESULTS.md.
MOST_LOGITS = 2**25


def token_losses(labels, logits, label_smoothing=0.0):
    """Computes the smoothed and the unsmoothed loss of each position in nats, including padding.

    With `log p = z − log Σ exp z`, the cross-entropy is

        log Σ exp z − (1 − ε) z_label − ε / (V − 1) · (Σ z − z_label)

    Args:
        labels: integers `[...]`.
        logits: z, `[..., V]`.
        label_smoothing: ε.

    Returns:
        Two arrays `[...]` in float32: the smoothed loss, and the negative log-likelihood of the
        label, from which perplexity is computed.
    """
    labels = ops.cast(labels, "int32")[..., None]
    share = label_smoothing / (logits.shape[-1] - 1)  # q of each token except the label

    @ops.custom_gradient
    def losses(logits):
        log_normalizer = ops.logsumexp(logits, axis=-1, keepdims=True)
        label_logit = ops.take_along_axis(logits, labels, axis=-1)
        unsmoothed = log_normalizer - label_logit
        smoothed = unsmoothed
        if label_smoothing:
            others = ops.sum(logits, axis=-1, keepdims=True) - label_logit
            smoothed = unsmoothed + label_smoothing * label_logit - share * others

        def gradient(*args, upstream=None):
            upstream = upstream_gradient(args, upstream)
            d_smoothed, d_unsmoothed = upstream[..., :1], upstream[..., 1:]
            d_both = d_smoothed + d_unsmoothed
            p = ops.exp(logits - log_normalizer)
            at_label = d_both * ops.exp(-unsmoothed) - d_both + label_smoothing * d_smoothed
            return put_along_last_axis(p * d_both - share * d_smoothed, labels, at_label)

        return ops.concatenate([smoothed, unsmoothed], axis=-1), gradient

    both = losses(at_least_float32(logits))
    return both[..., 0], both[..., 1]


class Unprojected(NamedTuple):
    """Outputs of a decoder whose logits are not computed yet.

    Args:
        x: vectors, `[..., d_model]`.
        layer: the layer whose `project` computes the logits.
        training: whether the loss will be differentiated.
        half_product: in training, a function of two bfloat16 matrices that returns their product in
            float32, for the three large products. None: they are products of float32 matrices.
    """

    x: Any
    layer: Any
    training: bool = False
    half_product: Callable | None = None

    def logits(self):
        return self.layer.project(self.x)


def chunked_sums(outputs, labels, weights, label_smoothing, count_right=False):
    """Returns the sums over tokens of the losses, and of the losses without smoothing.

    In training, the first sum can be differentiated. Its gradients are computed together with it.
    Otherwise, the backward pass would have to compute the logits again.

    Args:
        outputs: `Unprojected`, with a `SharedEmbedding` as its layer.
        labels: integers `[...]`.
        weights: weight of each position, `[...]`; 0 for padding.
        label_smoothing: ε.
        count_right: whether to also return the weighted number of tokens whose label has the
            largest logit.
    """
    # As tensors, because custom gradients do not accept variables.
    projection = [ops.reshape(w, w.shape) for w in outputs.layer.projection if w is not None]
    options = labels, weights, label_smoothing, count_right
    if not outputs.training:
        return tuple(ChunkedLoss(outputs.x, projection, *options).sums())
    trained = outputs.layer.trainable  # otherwise, the gradients of the projection are 0

    @ops.custom_gradient
    def differentiable_sums(x, *projection):
        loss = ChunkedLoss(x, projection, *options, outputs.half_product)
        sums, gradients = loss.sums(gradients=True, train_projection=trained)

        def gradient(*args, upstream=None):
            d_loss = ops.cast(upstream_gradient(args, upstream)[0], gradients[0].dtype)
            scaled = [
                ops.cast(each * d_loss, given.dtype)
                for each, given in zip(gradients, (x, *projection), strict=False)
            ]
            constant = [] if trained else [ops.zeros_like(each) for each in projection]
            return *scaled, *constant

        return ops.stack(sums), gradient

    sums = differentiable_sums(outputs.x, *projection)
    return tuple(ops.unstack(sums, 2 + count_right))


class ChunkedLoss:
    """Sums and gradients of the loss, chunk by chunk; for the arguments, see `chunked_sums`.

    With `share` = ε / (V − 1) and a `surplus` on the label, the loss of a token is log Σ exp z −
    share · Σ z − surplus · z_label. With e = exp(z − max z), its gradient is (e − share · Σ e −
    surplus · Σ e on the label) / Σ e. The division and the constant `share` are applied to the
    products of e instead of e itself, because the products are much smaller.

    Chunk i of n contains the tokens i, i + n, i + 2 n, … So if the batch is spread over devices,
    each device computes a part of every chunk.
    """

    def __init__(
        self, x, projection, labels, weights, label_smoothing, count_right, half_product=None
    ):
        matrix, *bias = (at_least_float32(each) for each in projection)
        self.count_right, self.half_product = count_right, half_product
        if half_product is not None:
            matrix = ops.cast(matrix, "bfloat16")
        self.matrix, self.bias = matrix, bias[0] if bias else None
        vocab_size, width = matrix.shape
        self.share = label_smoothing / (vocab_size - 1)
        self.surplus = 1 - label_smoothing - self.share
        self.matrix_sum = ops.sum(at_least_float32(matrix), axis=0)
        # Transposed once for all chunks, because TensorFlow's product with a transposed matrix is
        # much slower. TensorFlow would fold `ops.transpose` into each product, but not an einsum.
        self.transposed = ops.einsum("vd->dv", matrix)

        dtype = keras.backend.result_type(x.dtype, matrix.dtype, "float32")
        labels = ops.reshape(ops.cast(labels, "int32"), (-1, 1))
        self.tokens = ops.shape(labels)[0]
        self.count = self.tokens // max(1, MOST_LOGITS // vocab_size) + 1
        self.size = -(-self.tokens // self.count)
        self.labels = self.padded(labels)
        self.weights = self.padded(ops.reshape(ops.cast(weights, dtype), (-1, 1)))
        self.vectors = self.padded(ops.reshape(ops.cast(x, dtype), (-1, width)))
        self.shape = ops.shape(x)

    def padded(self, rows):
        return ops.pad(rows, ((0, self.count * self.size - self.tokens), (0, 0)))

    def chunk(self, index, vectors):
        """Returns vectors `[size, d_model]`, labels and weights `[size, 1]` of a chunk."""
        return tuple(
            ops.reshape(rows, (self.size, self.count, rows.shape[-1]))[:, index]
            for rows in (vectors, self.labels, self.weights)
        )

    def loop(self, add_chunk):
        """Calls `add_chunk(index, *previous results)` for each chunk. Returns the last results."""
        results = add_chunk(0)
        if isinstance(self.count, int) and self.count == 1:
            return results
        return ops.while_loop(
            lambda index, *_: index < self.count,
            lambda index, *so_far: (index + 1, *add_chunk(index, *so_far)),
            (1, *results),
        )[1:]

    def product(self, a, b):
        """Returns the product of two large matrices, in float32."""
        if self.half_product is None:
            return ops.matmul(a, b)
        return self.half_product(ops.cast(a, "bfloat16"), ops.cast(b, "bfloat16"))

    def sums(self, gradients=False, train_projection=False):
        """Returns the sums of losses, of unsmoothed losses and, if requested, of right tokens.

        With `gradients`, also those of the first sum for x and, if they are trained, for matrix and
        bias.
        """

        def add_chunk(index, d_x=self.vectors, *so_far):
            # The gradients replace the vectors of the chunk. So a chunk depends on earlier chunks,
            # and TensorFlow does not compute several of them at once.
            x, labels, weights = self.chunk(index, d_x)
            results, exps, normalizer = self.of_chunk(x, labels, weights)
            if not gradients:
                return d_x, *added(so_far, results)
            at_label = ops.take_along_axis(exps, labels, axis=-1) - self.surplus * normalizer
            exps = put_along_last_axis(exps, labels, at_label)
            scale = weights / normalizer
            if train_projection:
                products = self.product(ops.transpose(exps), x * scale)
                results += ops.sum(x * weights, axis=0), products
            if train_projection and self.bias is not None:
                results += ops.sum(weights), ops.matmul(ops.transpose(exps), scale)[:, 0]
            new_d_x = self.product(exps, self.matrix) * scale
            if self.share:
                new_d_x -= self.share * weights * self.matrix_sum
            # With an index for each row, TensorFlow updates in place. For a slice, it copies all.
            rows = index + self.count * ops.arange(self.size, dtype="int32")
            return ops.scatter_update(d_x, rows[:, None], new_d_x), *added(so_far, results)

        d_x, *results = self.loop(add_chunk)
        sums, results = results[: 2 + self.count_right], results[2 + self.count_right :]
        if not gradients:
            return sums
        d_projection = [
            products - self.share * constant if self.share else products
            for constant, products in zip(results[::2], results[1::2], strict=True)
        ]
        return sums, [ops.reshape(d_x[: self.tokens], self.shape), *d_projection]

    def of_chunk(self, x, labels, weights):
        """Returns the sums of a chunk, e = exp(z − max z), and the sum of e for each token."""
        logits = self.product(x, self.transposed)
        if self.bias is not None:
            logits += self.bias
        maximum = ops.max(logits, axis=-1, keepdims=True)
        label_logit = ops.take_along_axis(logits, labels, axis=-1)
        exps = ops.exp(logits - maximum)
        normalizer = ops.sum(exps, axis=-1, keepdims=True)
        unsmoothed = smoothed = ops.log(normalizer) + maximum - label_logit
        if self.share:
            all_logits = ops.matmul(x, self.matrix_sum[:, None])
            if self.bias is not None:
                all_logits += ops.sum(self.bias)
            smoothed = unsmoothed + (1 - self.surplus) * label_logit - self.share * all_logits
        each = [smoothed, unsmoothed]
        if self.count_right:
            each.append(ops.cast(right_tokens(labels[..., 0], logits)[..., None], logits.dtype))
        return tuple(ops.sum(value * weights) for value in each), exps, normalizer


def right_tokens(labels, logits):
    """Returns a boolean for each token: whether its label has the largest logit."""
    return ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))


def added(sums, more):
    """Adds two tuples. The first one is empty before the first chunk."""
    return tuple(a + b for a, b in zip(sums, more, strict=True)) if sums else more


def put_along_last_axis(x, indices, values):
    """Replaces one element along the last axis. `indices` and `values` are `[..., 1]`."""
    shape, width = ops.shape(x), x.shape[-1]
    rows = ops.reshape(x, (-1, width))
    numbers = ops.arange(ops.shape(rows)[0], dtype="int32")
    elements = ops.stack([numbers, ops.reshape(indices, (-1,))], axis=-1)
    return ops.reshape(ops.scatter_update(rows, elements, ops.reshape(values, (-1,))), shape)
