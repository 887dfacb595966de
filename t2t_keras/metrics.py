"""Training metrics over real tokens: accuracy and perplexity."""

import keras
from keras import ops

from t2t_keras.cross_entropy import right_tokens, token_losses
from t2t_keras.losses import check_labels, token_weights


@keras.saving.register_keras_serializable("t2t_keras")
class TokenAccuracy(keras.metrics.Mean):
    """Share of real tokens whose label has the largest logit.

    Args:
        in_training: whether the training step on TensorFlow counts them, which takes time.
            Evaluations always do.

    Example:

    >>> accuracy = TokenAccuracy()
    >>> accuracy.update_state(np.array([[1, 2, 0]]), np.eye(4, dtype="float32")[None, [1, 3, 0]])
    >>> float(accuracy.result())  # 1 of 2 real tokens
    0.5
    """

    def __init__(self, name="token_accuracy", dtype=None, in_training=True):
        super().__init__(name=name, dtype=dtype)
        self.in_training = in_training

    def update_state(self, y_true, y_pred, sample_weight=None):
        check_labels(y_true, y_pred)
        right = right_tokens(y_true, y_pred)
        super().update_state(right, sample_weight=token_weights(y_true, sample_weight))

    def get_config(self):
        return {**super().get_config(), "in_training": self.in_training}


@keras.saving.register_keras_serializable("t2t_keras")
class Perplexity(keras.metrics.Mean):
    """`exp` of the mean cross-entropy of the real tokens, without label smoothing (§6.2).

    It is a perplexity per piece of the vocabulary, not per word, so it is comparable only between
    models with the same vocabulary.

    Example:

    >>> perplexity = Perplexity()
    >>> perplexity.update_state(np.array([[1, 2, 0]]), np.zeros((1, 3, 8), "float32"))
    >>> round(float(perplexity.result()), 4)  # a uniform guess among 8
    8.0
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        check_labels(y_true, y_pred)
        _, losses = token_losses(y_true, y_pred)
        super().update_state(losses, sample_weight=token_weights(y_true, sample_weight))

    def result(self):
        return ops.exp(super().result())
