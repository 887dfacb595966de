"""The training loss (§5.4) from the decoder's outputs, without the logits of all tokens at once.

The logits take `vocab_size` numbers per token, far more than any other array of the model. Here
they are computed for a chunk of tokens, reduced to sums and gradients, and discarded. The results
equal those of `LabelSmoothedCrossEntropy.sums` on all logits.
"""

import keras
from keras import ops

from t2t_keras.layers.numerics import at_least_float32, upstream_gradient

# Maximum number of logits in a chunk: 128 MiB in float32. Measured in training/RESULTS.md.
MOST_LOGITS = 2**25


def chunked_loss(
    x,
    projection,
    labels,
    weights,
    label_smoothing,
    count_right=False,
    train_projection=True,
    half_product=None,
):
    """Returns sums over tokens, see `chunked_sums`. The first sum can be differentiated.

    The gradients are computed together with the sum. Otherwise, the backward pass would have to
    compute the logits again.

    Args:
        train_projection: whether matrix and bias need gradients. If not, their gradients are 0.
        half_product: function of two bfloat16 matrices that returns their product in float32. It
            computes the three large products. None: they are products of float32 matrices.
        x, projection, labels, weights, label_smoothing, count_right: see `chunked_sums`.
    """

    @ops.custom_gradient
    def differentiable_sums(x, *projection):
        loss = ChunkedLoss(projection, label_smoothing, half_product)
        sums, gradients = loss.sums_and_gradients(x, labels, weights, count_right, train_projection)

        def gradient(*args, upstream=None):
            d_loss = ops.cast(upstream_gradient(args, upstream)[0], gradients[0].dtype)
            scaled = [
                ops.cast(each * d_loss, given.dtype)
                for each, given in zip(gradients, (x, *projection), strict=False)
            ]
            constant = [] if train_projection else [ops.zeros_like(each) for each in projection]
            return *scaled, *constant

        return ops.stack(sums), gradient

    sums = differentiable_sums(x, *tensors(projection))
    return tuple(ops.unstack(sums, 2 + count_right))


def chunked_sums(x, projection, labels, weights, label_smoothing, count_right=False):
    """Returns the sums over tokens of the losses, and of the losses without smoothing.

    Args:
        x: vectors, `[..., d_model]`.
        projection: matrix `[vocab_size, d_model]` and bias `[vocab_size]` of the logits; the bias
            may be None.
        labels: integers `[...]`.
        weights: weight of each position, `[...]`; 0 for padding. See `token_weights`.
        label_smoothing: ε.
        count_right: whether to also return the weighted number of tokens whose label has the
            largest logit.
    """
    loss = ChunkedLoss(tensors(projection), label_smoothing)
    return loss.sums(x, labels, weights, count_right)


def tensors(projection):
    """Returns matrix and bias as tensors, because custom gradients do not accept variables."""
    return [ops.reshape(each, each.shape) for each in projection if each is not None]


class ChunkedLoss:
    """Sums and gradients of the loss, chunk by chunk.

    The target distribution q is ε / (V − 1) everywhere (`share`), with a `surplus` on the label.
    So the loss of a token is log Σ exp z − share · Σ z − surplus · z_label, and its gradient with
    respect to the logits z is p − q. With e = exp(z − max z), this is (e − share · Σ e − surplus ·
    Σ e on the label) / Σ e. The division and the constant `share` are applied to the products of e
    instead of e itself, because the products are much smaller.
    """

    def __init__(self, projection, label_smoothing, half_product=None):
        matrix, *bias = (at_least_float32(each) for each in projection)
        self.half_product = half_product
        if half_product is not None:
            matrix = ops.cast(matrix, "bfloat16")
        self.matrix, self.bias = matrix, bias[0] if bias else None
        self.share = label_smoothing / (matrix.shape[0] - 1)
        self.surplus = 1 - label_smoothing - self.share
        self.matrix_sum = ops.sum(at_least_float32(matrix), axis=0)
        # Transposed once for all chunks, because TensorFlow's product with a transposed matrix is
        # much slower. TensorFlow would fold `ops.transpose` into each product, but not an einsum.
        self.transposed = ops.einsum("vd->dv", matrix)

    def product(self, a, b):
        """Returns the product of two large matrices, in float32."""
        if self.half_product is None:
            return ops.matmul(a, b)
        return self.half_product(ops.cast(a, "bfloat16"), ops.cast(b, "bfloat16"))

    def sums(self, x, labels, weights, count_right):
        """Returns the sums of losses, of unsmoothed losses and, if requested, of right tokens."""
        chunks = Chunks(x, labels, weights, self.matrix)

        def add_chunk(index, *so_far):
            x, labels, weights = chunks.get(index)
            sums = self.of_chunk(x, labels, weights, count_right)[0]
            return added(so_far, sums)

        return chunks.loop(add_chunk)

    def sums_and_gradients(self, x, labels, weights, count_right, train_projection):
        """Returns the sums, and the gradients of the first sum for x, matrix and bias."""
        chunks = Chunks(x, labels, weights, self.matrix)

        def add_chunk(index, d_x=chunks.vectors, *so_far):
            # The gradients replace the vectors of the chunk. So a chunk depends on earlier chunks,
            # and TensorFlow does not compute several of them at once.
            x, labels, weights = chunks.get(index, d_x)
            results, exps, normalizer = self.of_chunk(x, labels, weights, count_right)
            at_label = ops.take_along_axis(exps, labels, axis=-1) - self.surplus * normalizer
            exps = put_along_last_axis(exps, labels, at_label)
            scale = weights / normalizer
            if train_projection:
                results += (
                    ops.sum(x * weights, axis=0),
                    self.product(ops.transpose(exps), x * scale),
                )
            if train_projection and self.bias is not None:
                results += ops.sum(weights), ops.matmul(ops.transpose(exps), scale)[:, 0]
            new_d_x = self.product(exps, self.matrix) * scale
            if self.share:
                new_d_x -= self.share * weights * self.matrix_sum
            return chunks.put(index, d_x, new_d_x), *added(so_far, results)

        d_x, *results = chunks.loop(add_chunk)
        sums, results = results[: 2 + count_right], results[2 + count_right :]
        gradients = [chunks.joined(d_x)]
        for constant, products in zip(results[::2], results[1::2], strict=True):
            gradients.append(products - self.share * constant if self.share else products)
        return sums, gradients

    def of_chunk(self, x, labels, weights, count_right):
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
        if count_right:
            guess = ops.cast(ops.argmax(logits, axis=-1, keepdims=True), "int32")
            each.append(ops.cast(ops.equal(labels, guess), logits.dtype))
        return tuple(ops.sum(value * weights) for value in each), exps, normalizer


def added(sums, more):
    """Adds two tuples. The first one is empty before the first chunk."""
    return tuple(a + b for a, b in zip(sums, more, strict=True)) if sums else more


class Chunks:
    """Vectors, labels and weights, split into chunks of equal size.

    Chunk i of n contains the tokens i, i + n, i + 2 n, … So if the batch is spread over devices,
    each device computes a part of every chunk.
    """

    def __init__(self, x, labels, weights, matrix):
        self.shape = ops.shape(x)
        dtype = keras.backend.result_type(x.dtype, matrix.dtype, "float32")
        vocab_size, width = matrix.shape
        labels = ops.reshape(ops.cast(labels, "int32"), (-1, 1))
        self.tokens = ops.shape(labels)[0]
        self.count = self.tokens // max(1, MOST_LOGITS // vocab_size) + 1
        self.size = -(-self.tokens // self.count)
        self.labels = self.padded(labels)
        self.weights = self.padded(ops.reshape(ops.cast(weights, dtype), (-1, 1)))
        self.vectors = self.padded(ops.reshape(ops.cast(x, dtype), (-1, width)))

    def padded(self, rows):
        return ops.pad(rows, ((0, self.count * self.size - self.tokens), (0, 0)))

    def get(self, index, vectors=None):
        """Returns vectors `[size, d_model]`, labels and weights `[size, 1]` of a chunk."""
        vectors = self.vectors if vectors is None else vectors
        return tuple(
            ops.reshape(rows, (self.size, self.count, rows.shape[-1]))[:, index]
            for rows in (vectors, self.labels, self.weights)
        )

    def put(self, index, rows, new):
        """Replaces the rows of a chunk."""
        # With an index for each row, TensorFlow updates in place. For a slice, it copies all rows.
        indices = index + self.count * ops.arange(self.size, dtype="int32")
        return ops.scatter_update(rows, indices[:, None], new)

    def joined(self, rows):
        return ops.reshape(rows[: self.tokens], self.shape)

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


def put_along_last_axis(x, indices, values):
    """Replaces one element along the last axis. `indices` and `values` are `[..., 1]`."""
    shape, width = ops.shape(x), x.shape[-1]
    rows = ops.reshape(x, (-1, width))
    numbers = ops.arange(ops.shape(rows)[0], dtype="int32")
    elements = ops.stack([numbers, ops.reshape(indices, (-1,))], axis=-1)
    return ops.reshape(ops.scatter_update(rows, elements, ops.reshape(values, (-1,))), shape)
