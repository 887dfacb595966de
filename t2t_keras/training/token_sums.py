"""Loss and metrics of a batch from a few sums over its tokens.

If these sums suffice for all metrics of a model, nobody reads its logits. Then they are computed
in chunks, see chunked_loss.py.
"""

import inspect
from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.chunked_loss import chunked_loss, chunked_sums
from t2t_keras.losses import token_weights
from t2t_keras.metrics import Perplexity, TokenAccuracy, right_tokens


class TokenSums(NamedTuple):
    """Sums over the real tokens of a batch, each token with its weight."""

    loss: Any
    unsmoothed: Any  # the loss without label smoothing
    tokens: Any
    right: Any  # tokens whose label has the largest logit; 0 if they are not counted

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
    arguments = x, layer.projection, labels, weights, model.loss.label_smoothing, count_right
    if training:
        loss, unsmoothed, *right = chunked_loss(*arguments, train_projection=layer.trainable)
    else:
        loss, unsmoothed, *right = chunked_sums(*arguments)
    return TokenSums(loss, unsmoothed, ops.sum(weights), *(right or [ops.zeros(())]))


def token_sums_of_logits(loss, labels, logits, sample_weight, count_right):
    """Returns the `TokenSums` of a batch with known logits."""
    total, unsmoothed, tokens = loss.sums(labels, logits, sample_weight)
    right = ops.zeros(())
    if count_right:
        weights = token_weights(labels, sample_weight)
        right = ops.sum(ops.where(right_tokens(labels, logits), weights, 0.0))
    return TokenSums(total, unsmoothed, tokens, right)


def metrics_of_sums(model, sample_weight):
    """Returns the metrics given to `compile` if `TokenSums` suffice for them, otherwise None.

    A model with a `call` of its own that returns logits in any case needs None, too.
    """
    if "project" not in inspect.signature(type(model).call).parameters:
        return None
    metrics = []
    for metric in model.metrics:
        if isinstance(metric, keras.metrics.Mean):
            continue  # the loss, or a by-product of it
        # Keras gives the sample weights to `weighted_metrics`, but not to `metrics`.
        if sample_weight is not None or not metric.built or not hasattr(metric, "metrics"):
            return None
        metrics += metric.metrics
    return metrics if all(type(m) in (Perplexity, TokenAccuracy) for m in metrics) else None
