"""The training loss (§5.4): cross-entropy against a smoothed target distribution."""

import keras
from keras import ops

from t2t_keras.checks import check_rate
from t2t_keras.layers.masks import padding_mask
from t2t_keras.layers.numerics import at_least_float32, upstream_gradient


def token_cross_entropy(labels, logits, label_smoothing=0.0):
    """Computes the loss of each position in nats, including padding; see `token_losses`."""
    return token_losses(labels, logits, label_smoothing)[0]


def token_losses(labels, logits, label_smoothing):
    """Computes the smoothed and the unsmoothed loss of each position in nats, including padding.

    The target distribution q is 1 − ε on the label, with ε spread evenly over the other V − 1
    tokens. The code never builds q. With `log p = z − log Σ exp z`, the cross-entropy is

        log Σ exp z − (1 − ε) z_label − ε / (V − 1) · (Σ z − z_label)

    Its gradient, p − q, is written out because automatic differentiation would process an array of
    the size of the logits once for each of these terms.

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


def put_along_last_axis(x, indices, values):
    """Replaces one element along the last axis. `indices` and `values` are `[..., 1]`."""
    shape, width = ops.shape(x), x.shape[-1]
    rows = ops.reshape(x, (-1, width))
    elements = ops.stack([ops.arange(ops.shape(rows)[0]), ops.reshape(indices, (-1,))], axis=-1)
    return ops.reshape(ops.scatter_update(rows, elements, ops.reshape(values, (-1,))), shape)


def token_weights(labels, sample_weight=None):
    """Returns the weight of each position: 0 for padding, 1 or its `sample_weight` for a token.

    Args:
        labels: `[batch, length]`.
        sample_weight: None, `[batch]` or `[batch, length]`.
    """
    weights = ops.cast(padding_mask(labels), "float32")
    if sample_weight is None:
        return weights
    sample_weight = ops.cast(sample_weight, weights.dtype)
    if len(sample_weight.shape) == len(weights.shape) - 1:
        sample_weight = sample_weight[..., None]
    return weights * sample_weight


@keras.saving.register_keras_serializable("t2t_keras")
class LabelSmoothedCrossEntropy(keras.losses.Loss):
    """Mean loss over the real tokens of a batch. Padding (label 0) is ignored.

    `loss(labels, logits)`, for `model.compile(loss=…)`, is the sum over the tokens of the batch,
    divided once by their number. For a batch that is spread over replicas or accumulated from
    parts, add up the results of `sum_and_count` and divide at the end, because the mean of the
    parts' means is a different value. Keras' own training step reports the mean of the batches'
    means as `loss`; `Perplexity` is exact over all tokens.

    A subclass may override `call`, which returns the loss of each position, `sum_and_count`, or
    `__call__`. Training then uses them, with the logits of all tokens instead of chunks.

    Args:
        label_smoothing: ε. The paper uses 0.1.

    Example:

    >>> loss = LabelSmoothedCrossEntropy(label_smoothing=0.1)
    >>> labels, logits = np.array([[3, 2, 0]]), np.zeros((1, 3, 8), "float32")
    >>> round(float(loss(labels, logits)), 4)  # log 8
    2.0794

    References:
        Vaswani et al. 2017, §5.4; Szegedy et al. 2015 (arXiv 1512.00567).
    """

    def __init__(self, label_smoothing=0.1, name="label_smoothed_cross_entropy"):
        super().__init__(name=name, reduction="sum")
        check_rate("label_smoothing", label_smoothing)
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        """Returns the loss of each position, `[batch, length]`, including padding."""
        return token_cross_entropy(y_true, y_pred, self.label_smoothing)

    def sum_and_count(self, labels, logits, sample_weight=None):
        """Returns the sum of the real tokens' losses, and the number of real tokens.

        With `sample_weight`, the losses are weighted, and the number is the sum of the weights.
        """
        total, _, count = self.sums(labels, logits, sample_weight)
        return total, count

    def sums(self, labels, logits, sample_weight=None):
        """Returns the sum of losses, their sum without smoothing (for perplexity) and the count."""
        check_labels(labels, logits)
        weights = token_weights(labels, sample_weight)
        if type(self).call is LabelSmoothedCrossEntropy.call:
            losses = token_losses(labels, logits, self.label_smoothing)
        else:
            losses = self.call(labels, logits), token_cross_entropy(labels, logits)
            check_losses(losses[0], labels)
        losses = [at_least_float32(loss) for loss in losses]
        total, unsmoothed = (ops.sum(loss * ops.cast(weights, loss.dtype)) for loss in losses)
        return total, unsmoothed, ops.sum(weights)

    def __call__(self, y_true, y_pred, sample_weight=None):
        total, count = self.sum_and_count(y_true, y_pred, sample_weight)
        return Quotient(dtype=keras.backend.standardize_dtype(total.dtype))(total, count)

    def get_config(self):
        return {"name": self.name, "label_smoothing": self.label_smoothing}


class Quotient(keras.losses.Loss):
    """The quotient of two numbers, with Keras' convention for several replicas.

    Keras sums gradients over the replicas of a `tf.distribute` strategy. So there, its reduction of
    losses also divides by the number of replicas.
    """

    def __init__(self, dtype):
        super().__init__(reduction="mean", dtype=dtype)

    def call(self, y_true, y_pred):
        return ops.divide_no_nan(y_true, y_pred)[None]


def check_losses(losses, labels):
    """Rejects losses unless there is one per position. Others would get wrong weights."""
    if len(losses.shape) != len(labels.shape):
        raise ValueError(
            "`call` of a LabelSmoothedCrossEntropy must return one loss for each position, of the "
            f"shape of the labels, {tuple(labels.shape)}. Received: losses of shape "
            f"{tuple(losses.shape)}. To compute the mean of the batch, override `__call__`"
        )


def check_labels(labels, logits):
    known = zip(labels.shape, logits.shape, strict=False)
    if len(logits.shape) != len(labels.shape) + 1 or any(
        a != b and a is not None and b is not None for a, b in known
    ):
        raise ValueError(
            "Labels [batch, length] require logits [batch, length, vocabulary]. Received: "
            f"labels of shape {tuple(labels.shape)}, logits of shape {tuple(logits.shape)}"
        )
