"""Loss and metrics of a batch, computed from a few sums over its tokens.

If these sums suffice for all metrics of a model, the logits of a whole batch are not needed. Then
the sums are computed in chunks (see chunked_loss.py), unless a subclass computes logits or loss in
a different way.
"""

import inspect
from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.layers.shared_embedding import SharedEmbedding
from t2t_keras.metrics import Perplexity, TokenAccuracy, right_tokens
from t2t_keras.token_loss import TokenLoss, inherits, token_weights
from t2t_keras.training.hardware.half_products import half_product_for


class TokenSums(NamedTuple):
    """Sums over the real tokens of a batch, each token with its weight."""

    loss: Any
    count: Any  # divisor of the loss: the number of tokens, unless a loss counts differently
    unsmoothed: Any  # the negative log-likelihood of the labels
    tokens: Any
    right: Any  # number of tokens whose label has the largest logit; 0 if they are not counted

    def update(self, metrics):
        """Updates each `Perplexity` and `TokenAccuracy`."""
        for metric in metrics:
            total = self.unsmoothed if isinstance(metric, Perplexity) else self.right
            metric.update_with_mean(ops.divide_no_nan(total, self.tokens), self.tokens)


def chunked_token_sums(model, inputs, labels, sample_weight, count_right, training):
    """Returns the `TokenSums` of a batch. In training, its loss can be differentiated."""
    x = model(inputs, training=training, project=False)
    layer = model.output_embedding
    weights = token_weights(labels, sample_weight)
    arguments = x, layer.projection, labels, weights, count_right
    options = {}
    if training:
        half_product = half_product_for(x, compiled=getattr(model, "xla", True))
        options = {"trained": layer.trainable, "half_product": half_product}
    sums = model.loss.sums_in_chunks(*arguments, training, **options)
    loss, unsmoothed, *right = (ops.cast(each, "float32") for each in sums)
    tokens = ops.sum(weights)
    return TokenSums(loss, tokens, unsmoothed, tokens, *(right or [ops.zeros(())]))


def token_sums_of_logits(loss, labels, logits, sample_weight, count_right):
    """Returns the `TokenSums` of a batch with known logits."""
    total, unsmoothed, count = loss.sums(labels, logits, sample_weight)
    weights = token_weights(labels, sample_weight)
    tokens = ops.sum(weights)
    right = ops.zeros(())
    if count_right:
        right = ops.sum(ops.where(right_tokens(labels, logits), weights, 0.0))
    # The sums of a user's loss may have any dtype, and a count may be an integer.
    total, count = (ops.cast(value, "float32") for value in (total, count))
    return TokenSums(total, count, unsmoothed, tokens, right)


def has_sums(model):
    """Returns whether the loss of a batch follows from `sums` of the model's loss.

    This is false for other losses, and if a subclass or `loss_weights` changes the computation.
    """
    return (
        isinstance(model.loss, TokenLoss)
        and inherits(model.loss, TokenLoss, "__call__")
        and not model.has_loss_weights
        and not is_overridden(model, "compute_loss", keras.Model)
    )


def has_chunks(model):
    """Returns whether the loss has chunks, and the logits are not overridden."""
    return (
        model.loss.has_chunks
        and "project" in inspect.signature(type(model).call).parameters
        and type(model.output_embedding) is SharedEmbedding
    )


def is_overridden(model, method, base):
    """Returns whether a model overrides a method of its base class."""
    return getattr(getattr(model, method), "__func__", None) is not getattr(base, method)


def metrics_of_sums(model, sample_weight):
    """Returns the metrics given to `compile` if `TokenSums` suffice for them, otherwise None."""
    metrics = []
    for metric in model.metrics:
        if not hasattr(metric, "metrics"):
            continue  # the loss, a by-product or a metric that a layer updates
        # Keras gives the sample weights to `weighted_metrics`, but not to `metrics`.
        if sample_weight is not None or not metric.built:
            return None
        metrics += metric.metrics
    return metrics if all(type(m) in (Perplexity, TokenAccuracy) for m in metrics) else None
