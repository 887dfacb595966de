"""R-Drop: two passes over each batch with different dropout, whose predictions should agree.

Wu et al. 2021, "R-Drop: Regularized Dropout for Neural Networks" (arXiv 2106.14448). A model with
dropout is a different model in each pass. R-Drop adds the divergence of the two predicted
distributions to the loss, which regularizes training on little text. A step takes twice as long.
"""

import keras
from keras import ops

from t2t_keras.layers.numerics import at_least_float32, upstream_gradient
from t2t_keras.losses import TokenSums, token_weights


def r_drop_sums(model, inputs, labels, sample_weight, alpha, count_right):
    """Returns the `TokenSums` of a training batch, and the logits of the first pass.

    The loss of a token is the mean cross-entropy of both passes plus α / 2 times their symmetric
    divergence. This is half of the paper's loss, so that α = 0 leaves the loss unchanged.
    """
    inputs, both_labels, both_weights = keras.tree.map_structure(
        lambda x: None if x is None else ops.concatenate([x, x]), (inputs, labels, sample_weight)
    )
    # One pass over the batch and its copy. Each row has its own dropout.
    logits = model(inputs, training=True)
    sums = model.loss.sums(logits, both_labels, both_weights, count_right, inputs)
    first, second = ops.split(logits, 2)
    weights = token_weights(labels, sample_weight)
    divergence = ops.sum(weights * symmetric_divergence(first, second))
    halves = TokenSums(*(total / 2 for total in sums))
    return halves._replace(loss=halves.loss + alpha / 2 * divergence), first


def symmetric_divergence(first, second):
    """Computes ½ (KL(p‖q) + KL(q‖p)) at each position, in float32, from logits of p and q.

    With d = log p − log q, it is ½ Σ (p − q) d. Its gradient with respect to the logits of p is ½
    (p (d − KL(p‖q)) + p − q). It is written out to save passes over arrays of this size.
    """

    @ops.custom_gradient
    def divergence(first, second):
        log_p, log_q = (ops.log_softmax(logits, axis=-1) for logits in (first, second))
        p, q, d = ops.exp(log_p), ops.exp(log_q), log_p - log_q

        def gradient(*args, upstream=None):
            half = upstream_gradient(args, upstream)[..., None] / 2
            kl_pq = ops.sum(p * d, axis=-1, keepdims=True)
            kl_qp = -ops.sum(q * d, axis=-1, keepdims=True)
            return half * (p * (d - kl_pq + 1) - q), half * (q * (1 - d - kl_qp) - p)

        return ops.sum((p - q) * d, axis=-1) / 2, gradient

    return divergence(at_least_float32(first), at_least_float32(second))
