"""Any loss of Keras, or a function, as a mean over real tokens."""

import inspect

import keras
from keras import ops

from t2t_keras.checks import check
from t2t_keras.token_loss import TokenLoss, check_losses, inherits, token_weights


@keras.saving.register_keras_serializable("t2t_keras")
class TokenMean(TokenLoss):
    """The mean over real tokens of a loss of Keras, or of a function (labels, logits) → losses.

    As in Keras, sample weights do not count in the divisor, unless the reduction of the loss is
    "mean_with_sample_weight". Tokens of its `ignore_class` count nowhere.

    Args:
        loss: a `keras.losses.Loss` or a function that returns the loss of each position.
    """

    def __init__(self, loss, name=None):
        super().__init__(name=name or getattr(loss, "name", None))
        self.loss = loss

    def call(self, y_true, y_pred):
        is_loss = isinstance(self.loss, keras.losses.Loss)
        return (self.loss.call if is_loss else self.loss)(y_true, y_pred)

    def padded(self, labels):
        ignored = getattr(self.loss, "ignore_class", None)
        if ignored is None:
            return labels
        is_ignored = ops.equal(ops.cast(labels, "int32"), ignored)
        return ops.where(is_ignored, ops.zeros_like(labels), labels)

    def weights_and_count(self, labels, sample_weight=None):
        labels = self.padded(labels)
        counted = token_weights(labels)
        if sample_weight is None:
            return counted, ops.sum(counted)
        weights = counted * token_weights(labels, sample_weight)
        by_weight = getattr(self.loss, "reduction", None) == "mean_with_sample_weight"
        return weights, ops.sum(weights if by_weight else counted)

    def get_config(self):
        return {**super().get_config(), "loss": keras.saving.serialize_keras_object(self.loss)}

    @classmethod
    def from_config(cls, config):
        return cls(keras.saving.deserialize_keras_object(config["loss"]), config["name"])


class NoTokenLoss(ValueError):
    """A loss gives no value for each token, so it is left to Keras' own training step."""


def token_loss(loss, vocab_size):
    """Returns a loss of Keras as a `TokenLoss`. Raises `NoTokenLoss` if it cannot be one.

    Args:
        loss: a `keras.losses.Loss`, its name, or a function (labels, logits) → losses.
        vocab_size: number of logits.
    """
    loss = keras.losses.get(loss)
    is_loss = isinstance(loss, keras.losses.Loss)
    base = TokenLoss if isinstance(loss, TokenLoss) else keras.losses.Loss
    if is_loss and not inherits(loss, base, "__call__"):
        raise NoTokenLoss("it overrides `__call__`; define `call`, for the loss of each position")
    if isinstance(loss, TokenLoss):
        return loss
    if is_loss and loss.reduction in ("sum", "none", None):
        raise NoTokenLoss(
            f"its reduction is {loss.reduction!r}; the loss of a batch is the mean over its tokens"
        )
    labels = ops.ones((2, 5), "int32")
    try:
        losses = TokenMean(loss).call(labels, ops.zeros((2, 5, vocab_size)))
        check_losses(losses, labels)
    except Exception as error:  # a user's function may raise any
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise NoTokenLoss(
            "it must take ids [batch, length] and logits [batch, length, vocabulary], and return "
            f"the loss of each position, [batch, length]. For zeros, it failed: {first}"
        ) from error
    return TokenMean(loss)


def check_takes_logits(loss):
    """Rejects a loss of Keras that takes probabilities, because the model returns logits."""
    loss = keras.losses.get(loss)
    function, options = getattr(loss, "fn", loss), getattr(loss, "_fn_kwargs", {})
    parameter = None
    if callable(function):
        parameter = inspect.signature(function).parameters.get("from_logits")
    from_logits = options.get("from_logits", parameter is None or parameter.default)
    name = getattr(loss, "__name__", type(loss).__name__)
    check(
        from_logits,
        "loss",
        name,
        "a loss of logits, such as keras.losses.SparseCategoricalCrossentropy(from_logits=True): "
        "the model returns logits, and this loss has from_logits=False",
    )
