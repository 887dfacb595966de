"""The losses of `training.loss`, among them the paper's (§5.4): label-smoothed cross-entropy.

A loss is one class whose `call(labels, logits)` returns the loss of each position: a
`keras.losses.Loss`, or a `TokenLoss` if it also changes how tokens are counted. Training asks a
`TokenLoss` for sums over tokens, which add up over replicas and parts of a batch. Any loss of Keras
becomes one.
"""

import inspect
from typing import Any, NamedTuple

import keras
from keras import ops

from pipelines.registry import Registry
from t2t_keras.checks import check, check_rate
from t2t_keras.cross_entropy import Unprojected, chunked_sums, right_tokens, token_losses
from t2t_keras.layers.masks import padding_mask
from t2t_keras.layers.numerics import at_least_float32
from t2t_keras.layers.shared_embedding import SharedEmbedding
from t2t_keras.options import made


class TokenSums(NamedTuple):
    """Sums over the real tokens of a batch, each token with its weight."""

    loss: Any
    count: Any  # divisor of the loss: the number of tokens, unless a loss counts differently
    unsmoothed: Any  # the negative log-likelihood of the labels, for perplexity
    tokens: Any
    right: Any  # number of tokens whose label has the largest logit; 0 if they are not counted


class TokenLoss(keras.losses.Loss):
    """Base class of losses that are means over the real tokens of a batch.

    `loss(labels, logits)`, for `model.compile(loss=…)`, is the sum over the tokens of the batch,
    divided once by their number. Padding (label 0) is ignored. For a batch that is spread over
    replicas or accumulated from parts, add up `sums` and divide at the end, because the mean of the
    parts' means is a different value. Keras' own training step reports the mean of the batches'
    means as `loss`; `Perplexity` is exact over all tokens.

    A subclass defines `call`. It may override `weights_and_count`, which training obeys, or
    `__call__`, with which training is Keras' own step. `columns` names columns of the data that
    `call` takes as further arguments; in evaluations, which have none, they are None.
    """

    columns = ()

    def __init__(self, name=None):
        super().__init__(name=name, reduction="sum")

    def call(self, y_true, y_pred):
        """Returns the loss of each position, `[batch, length]`, including padding.

        Args:
            y_true: labels, `[batch, length]`.
            y_pred: logits, `[batch, length, vocabulary]`.
        """
        raise NotImplementedError("A TokenLoss defines `call(labels, logits)`")

    def losses(self, labels, logits, **columns):
        """Returns the loss and the negative log-likelihood of each position."""
        return self.call(labels, logits, **columns), token_losses(labels, logits)[1]

    def weights_and_count(self, labels, sample_weight=None):
        """Returns the weight of each position and the divisor of the loss.

        Without `sample_weight`, they are 1 for a token, 0 for padding, and the number of tokens.
        """
        weights = token_weights(labels, sample_weight)
        return weights, ops.sum(weights)

    def sums(self, outputs, labels, sample_weight=None, count_right=False, inputs=()):
        """Returns the `TokenSums` of a batch.

        Args:
            outputs: logits `[batch, length, vocabulary]`, or `Unprojected`.
            labels: `[batch, length]`.
            sample_weight: see `token_weights`.
            count_right: whether to count the tokens whose label has the largest logit.
            inputs: the model's inputs, a dict with the arrays of `self.columns`.
        """
        logits = outputs.logits() if isinstance(outputs, Unprojected) else outputs
        check_labels(labels, logits)
        columns = {name: dict(inputs).get(name) for name in self.columns}
        losses, unsmoothed = self.losses(labels, logits, **columns)
        check_losses(losses, labels)
        weights, count = self.weights_and_count(labels, sample_weight)
        total = weighted_sum(losses, weights)
        weights, right = token_weights(labels, sample_weight), ops.zeros(())
        if count_right:
            right = ops.sum(ops.where(right_tokens(labels, logits), weights, 0.0))
        sums = total, count, weighted_sum(unsmoothed, weights), ops.sum(weights), right
        # The losses of a subclass may have any dtype, and its count may be an integer.
        return TokenSums(*(ops.cast(each, "float32") for each in sums))

    def __call__(self, y_true, y_pred, sample_weight=None):
        total, count, *_ = self.sums(y_pred, y_true, sample_weight)
        return Quotient()(total, count)

    def get_config(self):
        return {"name": self.name}


class Quotient(keras.losses.Loss):
    """The quotient of two numbers, with Keras' convention for several replicas.

    Keras sums gradients over the replicas of a `tf.distribute` strategy. So there, its reduction of
    losses also divides by the number of replicas.
    """

    def __init__(self):
        super().__init__(reduction="mean", dtype="float32")

    def call(self, y_true, y_pred):
        return ops.divide_no_nan(y_true, y_pred)[None]


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
        return token_losses(y_true, y_pred, self.label_smoothing)[0]

    def losses(self, labels, logits, **columns):
        if type(self).call is not LabelSmoothedCrossEntropy.call:
            return super().losses(labels, logits, **columns)
        return token_losses(labels, logits, self.label_smoothing)

    def sums(self, outputs, labels, sample_weight=None, count_right=False, inputs=()):
        in_chunks = isinstance(outputs, Unprojected) and type(outputs.layer) is SharedEmbedding
        if not in_chunks or type(self) is not LabelSmoothedCrossEntropy:
            return super().sums(outputs, labels, sample_weight, count_right, inputs)
        weights = token_weights(labels, sample_weight)
        sums = chunked_sums(outputs, labels, weights, self.label_smoothing, count_right)
        loss, unsmoothed, *right = (ops.cast(each, "float32") for each in sums)
        tokens = ops.sum(weights)
        return TokenSums(loss, tokens, unsmoothed, tokens, *(right or [ops.zeros(())]))

    def get_config(self):
        return {"name": self.name, "label_smoothing": self.label_smoothing}


@keras.saving.register_keras_serializable("t2t_keras")
class TokenMean(TokenLoss):
    """The mean over real tokens of a loss of Keras, or of a function (labels, logits) → losses.

    As in Keras, sample weights do not count in the divisor, unless the reduction of the loss is
    "mean_with_sample_weight".

    Args:
        loss: a `keras.losses.Loss` or a function that returns the loss of each position.
    """

    def __init__(self, loss, name=None):
        super().__init__(name=name or getattr(loss, "name", None))
        self.loss, self.columns = loss, getattr(loss, "columns", ())
        self.call = loss.call if isinstance(loss, keras.losses.Loss) else loss

    def weights_and_count(self, labels, sample_weight=None):
        weights, count = super().weights_and_count(labels, sample_weight)
        by_weight = getattr(self.loss, "reduction", None) == "mean_with_sample_weight"
        return weights, count if by_weight else ops.sum(token_weights(labels))

    def get_config(self):
        return {**super().get_config(), "loss": keras.saving.serialize_keras_object(self.loss)}

    @classmethod
    def from_config(cls, config):
        return cls(keras.saving.deserialize_keras_object(config["loss"]), config["name"])


class NoTokenLoss(ValueError):
    """A loss gives no value for each token, so it is left to Keras' own training step."""


def token_loss(loss, vocab_size):
    """Returns a Keras loss, its name or a function (labels, logits) → losses as a `TokenLoss`.

    Raises `NoTokenLoss` if it cannot be one. `vocab_size` is the number of logits.
    """
    loss = keras.losses.get(loss)
    columns, allowed = getattr(loss, "columns", ()), 'a tuple of names, such as ("weights",)'
    check(isinstance(columns, tuple | list), "columns", columns, allowed)
    if is_token_loss(loss):
        return loss
    check_takes_logits(loss)
    ignored = getattr(loss, "ignore_class", None)
    check(ignored in (None, 0), "ignore_class", ignored, "0, padding, which is always ignored")
    if isinstance(loss, keras.losses.Loss):
        if type(loss).__call__ is not keras.losses.Loss.__call__:
            raise NoTokenLoss(
                "it overrides `__call__`; define `call`, for the loss of each position"
            )
        if loss.reduction in ("sum", "none", None):
            mean = "the loss of a batch is the mean over its tokens"
            raise NoTokenLoss(f"its reduction is {loss.reduction!r}; {mean}")
    labels = ops.ones((2, 5), "int32")
    made = TokenMean(loss)
    try:
        columns = dict.fromkeys(made.columns)  # an evaluation has none
        check_losses(made.call(labels, ops.zeros((2, 5, vocab_size)), **columns), labels)
    except Exception as error:  # a user's function may raise any
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise NoTokenLoss(
            "it must take ids [batch, length] and logits [batch, length, vocabulary], and return "
            f"the loss of each position, [batch, length]. For zeros, it failed: {first}"
        ) from error
    return made


def is_token_loss(loss):
    """Returns whether a loss is a `TokenLoss` whose value follows from its `sums`."""
    return isinstance(loss, TokenLoss) and type(loss).__call__ is TokenLoss.__call__


def check_takes_logits(loss):
    """Rejects a loss of Keras that takes probabilities, because the model returns logits."""
    from_logits = getattr(loss, "from_logits", True)
    if not isinstance(loss, keras.losses.Loss):
        parameter = inspect.signature(loss).parameters.get("from_logits")
        from_logits = parameter is None or parameter.default
    allowed = "a loss of logits, such as keras.losses.SparseCategoricalCrossentropy("
    allowed += "from_logits=True): the model returns logits, and this loss has from_logits=False"
    check(from_logits, "loss", getattr(loss, "__name__", type(loss).__name__), allowed)


def weighted_sum(losses, weights):
    losses = at_least_float32(losses)
    return ops.sum(losses * ops.cast(weights, losses.dtype))


def token_weights(labels, sample_weight=None):
    """Returns the weight of each position: 0 for padding, 1 or its `sample_weight` for a token.

    `labels` are `[batch, length]`; `sample_weight` is None, `[batch]` or `[batch, length]`.
    """
    weights = ops.cast(padding_mask(labels), "float32")
    if sample_weight is None:
        return weights
    sample_weight = ops.cast(sample_weight, weights.dtype)
    if len(sample_weight.shape) == len(weights.shape) - 1:
        sample_weight = sample_weight[..., None]
    return weights * sample_weight


def check_losses(losses, labels):
    """Rejects losses unless there is one per position. Others would get wrong weights."""
    if len(losses.shape) != len(labels.shape):
        raise ValueError(
            "`call` of a loss must return one loss for each position, of the shape of the labels, "
            f"{tuple(labels.shape)}. Received: losses of shape {tuple(losses.shape)}. To compute "
            "the mean of the batch, override `__call__`"
        )


def check_labels(labels, logits):
    known = [pair for pair in zip(labels.shape, logits.shape, strict=False) if None not in pair]
    if len(logits.shape) != len(labels.shape) + 1 or any(a != b for a, b in known):
        raise ValueError(
            "Labels [batch, length] require logits [batch, length, vocabulary]. Received: "
            f"labels of shape {tuple(labels.shape)}, logits of shape {tuple(logits.shape)}"
        )


# {name in `training.loss`: class or function of options that returns a `TokenLoss`, a
# `keras.losses.Loss`, or a function (labels, logits) → loss of each position}
LOSSES = Registry(
    "LOSSES", "training.loss", {"label_smoothed_cross_entropy": LabelSmoothedCrossEntropy}
)


def named_loss(name, options="", label_smoothing=0.1):
    """Returns the loss that the settings `training.loss` and `training.loss_options` describe.

    `label_smoothing` is for losses with an argument of this name. Other losses accept only the
    default, 0.1, and 0.
    """
    loss = made("loss", LOSSES, name, options, label_smoothing=label_smoothing)
    check(callable(loss), f"LOSSES[{name!r}]", loss, "a function or class that returns a loss")
    if "label_smoothing" not in inspect.signature(LOSSES[name]).parameters:
        allowed = f"0 (or 0.1, the default) with loss={name!r}, which has no label smoothing"
        check(label_smoothing in (0, 0.1), "label_smoothing", label_smoothing, allowed)
    check_takes_logits(loss)
    return loss
