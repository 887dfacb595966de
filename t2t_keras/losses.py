"""The losses of `training.loss`, among them the paper's (§5.4): label-smoothed cross-entropy.

A loss is one class whose `call(labels, logits)` returns the loss of each position: a
`keras.losses.Loss`, or a `TokenLoss` if it also changes how tokens are counted.
"""

import inspect

import keras
from keras import ops

from pipelines.registry import Registry
from t2t_keras.checks import check, check_rate
from t2t_keras.cross_entropy import Unprojected, chunked_sums, token_cross_entropy, token_losses
from t2t_keras.layers.shared_embedding import SharedEmbedding
from t2t_keras.options import made
from t2t_keras.token_loss import TokenLoss, TokenSums, check_takes_logits, token_weights


@keras.saving.register_keras_serializable("t2t_keras")
class LabelSmoothedCrossEntropy(TokenLoss):
    """Cross-entropy with a smoothed target distribution; the mean over the real tokens of a batch.

    A subclass may override what `TokenLoss` allows. It is then computed from the logits of all
    tokens instead of in chunks.

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
        super().__init__(name=name)
        check_rate("label_smoothing", label_smoothing)
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        """Returns the loss of each position, `[batch, length]`, including padding."""
        return token_cross_entropy(y_true, y_pred, self.label_smoothing)

    def losses(self, labels, logits):
        if type(self).call is not LabelSmoothedCrossEntropy.call:
            return super().losses(labels, logits)
        return token_losses(labels, logits, self.label_smoothing)

    def sums(self, outputs, labels, sample_weight=None, count_right=False):
        in_chunks = isinstance(outputs, Unprojected) and type(outputs.layer) is SharedEmbedding
        if not in_chunks or type(self) is not LabelSmoothedCrossEntropy:
            return super().sums(outputs, labels, sample_weight, count_right)
        weights = token_weights(labels, sample_weight)
        sums = chunked_sums(outputs, labels, weights, self.label_smoothing, count_right)
        loss, unsmoothed, *right = (ops.cast(each, "float32") for each in sums)
        tokens = ops.sum(weights)
        return TokenSums(loss, tokens, unsmoothed, tokens, *(right or [ops.zeros(())]))

    def get_config(self):
        return {"name": self.name, "label_smoothing": self.label_smoothing}


# {name in `training.loss`: class or function of options that returns a `TokenLoss`, a
# `keras.losses.Loss`, or a function (labels, logits) → loss of each position}
LOSSES = Registry(
    "LOSSES", "training.loss", {"label_smoothed_cross_entropy": LabelSmoothedCrossEntropy}
)


def named_loss(name, options="", label_smoothing=0.1):
    """Returns the loss that the settings `training.loss` and `training.loss_options` describe.

    Args:
        name: a name in `LOSSES`.
        options: "NAME=VALUE,NAME=VALUE".
        label_smoothing: ε, for losses with an argument of this name. Other losses accept only the
            default, 0.1, and 0.
    """
    loss = made("loss", LOSSES, name, options, label_smoothing=label_smoothing)
    check(callable(loss), f"LOSSES[{name!r}]", loss, "a function or class that returns a loss")
    if "label_smoothing" not in inspect.signature(LOSSES[name]).parameters:
        allowed = f"0 (or 0.1, the default) with loss={name!r}, which has no label smoothing"
        check(label_smoothing in (0, 0.1), "label_smoothing", label_smoothing, allowed)
    check_takes_logits(loss)
    return loss
