"""What is reported while training: perplexity and accuracy over real tokens."""

import keras
from keras import ops

from t2t_keras.losses import check_labels, token_cross_entropy, token_weights


@keras.saving.register_keras_serializable("t2t_keras")
class TokenAccuracy(keras.metrics.Mean):
    """The share of real tokens whose logit is the largest of the vocabulary.

    Example:

    >>> accuracy = TokenAccuracy()
    >>> accuracy.update_state(np.array([[1, 2, 0]]), np.eye(4, dtype="float32")[None, [1, 3, 0]])
    >>> float(accuracy.result())  # 1 of 2 real tokens
    0.5
    """

    def __init__(self, name="token_accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        check_labels(y_true, y_pred)
        right = right_tokens(y_true, y_pred)
        super().update_state(right, sample_weight=token_weights(y_true, sample_weight))

    def update_with_mean(self, accuracy, count):
        """Adds `count` tokens whose accuracy is known already."""
        super().update_state(accuracy, sample_weight=count)


def right_tokens(labels, logits):
    """True where the largest logit is that of the label."""
    return ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))


@keras.saving.register_keras_serializable("t2t_keras")
class Perplexity(keras.metrics.Mean):
    """`exp` of the mean cross-entropy of the real tokens, without label smoothing (§6.2).

    It is a perplexity per piece of the vocabulary, not per word: it can only be compared
    where the vocabulary is the same.

    Example:

    >>> perplexity = Perplexity()
    >>> perplexity.update_state(np.array([[1, 2, 0]]), np.zeros((1, 3, 8), "float32"))
    >>> round(float(perplexity.result()), 4)  # an even guess among 8
    8.0
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        check_labels(y_true, y_pred)
        losses = token_cross_entropy(y_true, y_pred)
        super().update_state(losses, sample_weight=token_weights(y_true, sample_weight))

    def update_with_mean(self, loss, count):
        """Adds `count` tokens whose mean cross-entropy is known already."""
        super().update_state(loss, sample_weight=count)

    def result(self):
        return ops.exp(super().result())
