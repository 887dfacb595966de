"""What is reported while training: perplexity and accuracy over real tokens."""

import keras
from keras import ops

from t2t_keras.losses import check_labels, token_cross_entropy, token_weights


@keras.saving.register_keras_serializable("t2t_keras")
class TokenAccuracy(keras.metrics.Mean):
    """The share of real tokens whose logit is the largest of the vocabulary.

    Example:

    >>> model.compile(loss=LabelSmoothedCrossEntropy(), metrics=[TokenAccuracy()])
    """

    def __init__(self, name="token_accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        check_labels(y_true, y_pred)
        right = ops.equal(ops.cast(y_true, "int32"), ops.cast(ops.argmax(y_pred, axis=-1), "int32"))
        super().update_state(right, sample_weight=token_weights(y_true, sample_weight))


@keras.saving.register_keras_serializable("t2t_keras")
class Perplexity(keras.metrics.Mean):
    """`exp` of the mean cross-entropy of the real tokens, without label smoothing (§6.2).

    It is a perplexity per piece of the vocabulary, not per word: it can only be compared
    where the vocabulary is the same.

    Example:

    >>> model.compile(loss=LabelSmoothedCrossEntropy(), metrics=[Perplexity()])
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        check_labels(y_true, y_pred)
        losses = token_cross_entropy(y_true, y_pred)
        super().update_state(losses, sample_weight=token_weights(y_true, sample_weight))

    def result(self):
        return ops.exp(super().result())
