"""The training loss (§5.4): cross-entropy against a smoothed target distribution."""

import keras
from keras import ops

from t2t_keras.checks import check_rate
from t2t_keras.layers.masks import padding_mask
from t2t_keras.layers.precision import at_least_float32


def token_cross_entropy(labels, logits, label_smoothing=0.0):
    """The loss of each position in nats, whether it is padding or not; see `token_losses`."""
    return token_losses(labels, logits, label_smoothing)[0]


def token_losses(labels, logits, label_smoothing):
    """The loss of each position in nats, smoothed and plain, whether it is padding or not.

    The target distribution q is 1 − ε on the label and ε spread evenly over the other V − 1
    tokens. It is never built: with `log p = z − log Σ exp z` the sum over it becomes

        log Σ exp z − (1 − ε) z_label − ε / (V − 1) · (Σ z − z_label)

    Its gradient is p − q. That is said here and not left to the chain rule, which goes through
    an array of the size of the logits once for each of these terms.

    Args:
        labels: integers `[...]`.
        logits: z, `[..., V]`.
        label_smoothing: ε.

    Returns:
        Two arrays `[...]` in float32: with smoothing, and the negative log-likelihood of the
        label, which is what perplexity is made of.
    """
    labels = ops.cast(labels, "int32")[..., None]
    share = label_smoothing / (logits.shape[-1] - 1)  # of each token but the label

    @ops.custom_gradient
    def losses(logits):
        log_normalizer = ops.logsumexp(logits, axis=-1, keepdims=True)
        label_logit = ops.take_along_axis(logits, labels, axis=-1)
        unsmoothed = log_normalizer - label_logit
        smoothed = unsmoothed
        if label_smoothing:
            others = ops.sum(logits, axis=-1, keepdims=True) - label_logit
            smoothed = unsmoothed + label_smoothing * label_logit - share * others

        def gradient(upstream):
            of_smoothed, of_plain = upstream[..., :1], upstream[..., 1:]
            of_both = of_smoothed + of_plain
            p = ops.exp(logits - log_normalizer)
            at_label = of_both * ops.exp(-unsmoothed) - of_both + label_smoothing * of_smoothed
            return put_along_last_axis(p * of_both - share * of_smoothed, labels, at_label)

        return ops.concatenate([smoothed, unsmoothed], axis=-1), gradient

    both = losses(at_least_float32(logits))
    return both[..., 0], both[..., 1]


def put_along_last_axis(x, indices, values):
    """`x` with one element of its last axis replaced: `indices` and `values` are `[..., 1]`."""
    shape, width = ops.shape(x), x.shape[-1]
    rows = ops.reshape(x, (-1, width))
    places = ops.stack([ops.arange(ops.shape(rows)[0]), ops.reshape(indices, (-1,))], axis=-1)
    return ops.reshape(ops.scatter_update(rows, places, ops.reshape(values, (-1,))), shape)


def token_weights(labels, sample_weight=None):
    """How much each position counts: padding 0, a real token 1 or its `sample_weight`.

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
    """Mean loss of the real tokens of a batch; padding (label 0) counts nowhere.

    `loss(labels, logits)` is what `model.compile(loss=…)` needs: the sum over the tokens of
    the batch divided once by their number. Where a batch is spread over replicas or
    accumulated from parts, add up the results of `sum_and_count` and divide at the end: the
    mean of the parts' means is something else. Over several batches Keras reports just that
    mean of means as `loss`; `Perplexity` is exact over all their tokens.

    Args:
        label_smoothing: ε. The paper: 0.1.

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

    def sum_and_count(self, labels, logits, sample_weight=None):
        """The sum of the real tokens' losses, and their number (or the sum of their weights)."""
        total, _, count = self.sums(labels, logits, sample_weight)
        return total, count

    def sums(self, labels, logits, sample_weight=None):
        """As `sum_and_count`, and between them the sum without smoothing, for perplexity."""
        check_labels(labels, logits)
        weights = token_weights(labels, sample_weight)
        smoothed, plain = token_losses(labels, logits, self.label_smoothing)
        weights_of_losses = ops.cast(weights, smoothed.dtype)
        total, unsmoothed = (ops.sum(loss * weights_of_losses) for loss in (smoothed, plain))
        return total, unsmoothed, ops.sum(weights)

    def __call__(self, y_true, y_pred, sample_weight=None):
        total, count = self.sum_and_count(y_true, y_pred, sample_weight)
        return ops.divide_no_nan(total, ops.cast(count, total.dtype))

    def get_config(self):
        return {"name": self.name, "label_smoothing": self.label_smoothing}


def check_labels(labels, logits):
    known = zip(labels.shape, logits.shape, strict=False)
    if len(logits.shape) != len(labels.shape) + 1 or any(
        a != b and a is not None and b is not None for a, b in known
    ):
        raise ValueError(
            "Labels [batch, length] go with logits [batch, length, vocabulary]. Received: "
            f"labels of shape {tuple(labels.shape)}, logits of shape {tuple(logits.shape)}"
        )
