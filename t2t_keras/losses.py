"""The losses of `training.loss`, among them the paper's (§5.4): label-smoothed cross-entropy.

A loss is one class whose `call(labels, logits)` returns the loss of each position: a
`keras.losses.Loss`, or a `TokenLoss` if it also changes how tokens are counted or summed.
"""

import inspect

import keras

from t2t_keras.checks import check, check_choice, check_rate
from t2t_keras.chunked_loss import chunked_loss, chunked_sums
from t2t_keras.keras_losses import check_takes_logits
from t2t_keras.options import call_with_options, checked_options, read_options
from t2t_keras.token_loss import (
    TokenLoss,
    check_labels,
    inherits,
    token_cross_entropy,
    token_losses,
    weighted_sum,
)


@keras.saving.register_keras_serializable("t2t_keras")
class LabelSmoothedCrossEntropy(TokenLoss):
    """Cross-entropy with a smoothed target distribution; the mean over the real tokens of a batch.

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
        super().__init__(name=name)
        check_rate("label_smoothing", label_smoothing)
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        """Returns the loss of each position, `[batch, length]`, including padding."""
        return token_cross_entropy(y_true, y_pred, self.label_smoothing)

    def sums(self, labels, logits, sample_weight=None):
        """Returns the sum of losses, their sum without smoothing (for perplexity) and the count."""
        if not inherits(self, LabelSmoothedCrossEntropy, "call", "sum_and_count"):
            return super().sums(labels, logits, sample_weight)
        check_labels(labels, logits)
        weights, count = self.weights_and_count(labels, sample_weight)
        losses = token_losses(labels, logits, self.label_smoothing)
        total, unsmoothed = (weighted_sum(each, weights) for each in losses)
        return total, unsmoothed, count

    @property
    def has_chunks(self):
        overridable = "call", "weights_and_count", "sum_and_count", "sums"
        return inherits(self, LabelSmoothedCrossEntropy, *overridable)

    def sums_in_chunks(
        self, x, projection, labels, weights, count_right, training, trained=True, half_product=None
    ):
        """Returns `chunked_sums`; in training, the first sum can be differentiated.

        Args:
            x, projection, labels, weights, count_right: see `chunked_sums`.
            training: whether it is needed for training.
            trained: in training, whether the projection is trained.
            half_product: in training, see `chunked_loss`.
        """
        arguments = x, projection, labels, weights, self.label_smoothing, count_right
        if training:
            return chunked_loss(*arguments, train_projection=trained, half_product=half_product)
        return chunked_sums(*arguments)

    def get_config(self):
        return {"name": self.name, "label_smoothing": self.label_smoothing}


# {name in `training.loss`: class or function of options that returns a `TokenLoss`, a
# `keras.losses.Loss`, or a function (labels, logits) → loss of each position}
LOSSES = {"label_smoothed_cross_entropy": LabelSmoothedCrossEntropy}


def named_loss(name, options="", label_smoothing=0.1):
    """Returns the loss that the settings `training.loss` and `training.loss_options` describe.

    Args:
        name: a name in `LOSSES`.
        options: "NAME=VALUE,NAME=VALUE".
        label_smoothing: ε, for losses with an argument of this name. Other losses accept only the
            default, 0.1, and 0.
    """
    check_choice("loss", name, LOSSES)
    make, options = LOSSES[name], read_options("loss_options", options)
    smoothing = {}
    if "label_smoothing" in inspect.signature(make).parameters:
        smoothing = {"label_smoothing": label_smoothing}
        if "label_smoothing" in options:
            raise ValueError(
                "`loss_options` must not contain label_smoothing: it is a setting, "
                "training.label_smoothing"
            )
    elif label_smoothing not in (0, 0.1):
        allowed = f"0 (or 0.1, the default) with loss={name!r}, which has no label smoothing"
        check(False, "label_smoothing", label_smoothing, allowed)
    options = checked_options("loss_options", make, options, given=(*smoothing, "name"), of=name)
    loss = call_with_options("loss_options", make, smoothing, options)
    check(callable(loss), f"LOSSES[{name!r}]", loss, "a function or class that returns a loss")
    check_takes_logits(loss)
    return loss
