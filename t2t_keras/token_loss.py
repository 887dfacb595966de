"""A loss that is a mean over the real tokens of a batch, and the cross-entropy of a token.

Training asks a `TokenLoss` for sums over tokens, which add up over replicas and parts of a batch,
and if it has them, for sums that are computed in chunks.
"""

import keras
from keras import ops

from t2t_keras.chunked_loss import put_along_last_axis
from t2t_keras.layers.masks import padding_mask
from t2t_keras.layers.numerics import at_least_float32, upstream_gradient


class TokenLoss(keras.losses.Loss):
    """Base class of losses that are means over the real tokens of a batch.

    `loss(labels, logits)`, for `model.compile(loss=…)`, is the sum over the tokens of the batch,
    divided once by their number. Padding (label 0) is ignored. For a batch that is spread over
    replicas or accumulated from parts, add up the results of `sum_and_count` and divide at the end,
    because the mean of the parts' means is a different value. Keras' own training step reports the
    mean of the batches' means as `loss`; `Perplexity` is exact over all tokens.

    A subclass defines `call`. It may override `weights_and_count` or `sum_and_count`, which
    training obeys, or `__call__`, with which training is Keras' own step.
    """

    has_chunks = False  # whether there is a method `sums_in_chunks`

    def __init__(self, name=None):
        super().__init__(name=name, reduction="sum")

    def call(self, y_true, y_pred):
        """Returns the loss of each position, `[batch, length]`, including padding.

        Args:
            y_true: labels, `[batch, length]`.
            y_pred: logits, `[batch, length, vocabulary]`.
        """
        raise NotImplementedError("A TokenLoss defines `call(labels, logits)`")

    def padded(self, labels):
        """Returns labels with padding, 0, in place of tokens that no loss or metric counts."""
        return labels

    def weights_and_count(self, labels, sample_weight=None):
        """Returns the weight of each position and the divisor of the loss.

        Without `sample_weight`, they are 1 for a token, 0 for padding, and the number of tokens.
        """
        weights = token_weights(labels, sample_weight)
        return weights, ops.sum(weights)

    def sum_and_count(self, labels, logits, sample_weight=None):
        """Returns the sum of the real tokens' losses, and the number of real tokens.

        With `sample_weight`, the losses are weighted, and the number is the sum of the weights.
        """
        check_labels(labels, logits)
        labels = self.padded(labels)
        weights, count = self.weights_and_count(labels, sample_weight)
        losses = self.call(labels, logits)
        check_losses(losses, labels)
        return weighted_sum(losses, weights), count

    def sums(self, labels, logits, sample_weight=None):
        """Returns the sum of losses, the sum of negative log-likelihoods (for perplexity), and the
        count.
        """
        labels = self.padded(labels)
        total, count = self.sum_and_count(labels, logits, sample_weight)
        weights = token_weights(labels, sample_weight)
        return total, weighted_sum(token_cross_entropy(labels, logits), weights), count

    @property
    def count_is_known(self):
        """Whether the divisor follows from the labels alone, before the loss is computed."""
        return inherits(self, TokenLoss, "sum_and_count")

    def __call__(self, y_true, y_pred, sample_weight=None):
        total, count = self.sum_and_count(y_true, y_pred, sample_weight)
        return Quotient(dtype=keras.backend.standardize_dtype(total.dtype))(total, count)

    def get_config(self):
        return {"name": self.name}


def inherits(loss, base, *methods):
    """Returns whether a loss has these methods unchanged from a base class."""
    return all(getattr(type(loss), name) is getattr(base, name) for name in methods)


def weighted_sum(losses, weights):
    losses = at_least_float32(losses)
    return ops.sum(losses * ops.cast(weights, losses.dtype))


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
            "`call` of a loss must return one loss for each position, of the "
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
