"""Loss and metrics of a batch, computed from a few sums over its tokens.

If these sums suffice for all metrics of a model, the logits of a whole batch are not needed.
"""

import inspect

import keras
from keras import ops

from t2t_keras.cross_entropy import Unprojected
from t2t_keras.losses import is_token_loss
from t2t_keras.metrics import Perplexity, TokenAccuracy


def has_sums(model):
    """Returns whether the loss of a batch follows from `sums` of the model's loss.

    This is false for other losses, and if a subclass or `loss_weights` changes the computation.
    Training is then Keras' own step.
    """
    is_keras = type(model).compute_loss is keras.Model.compute_loss
    return is_token_loss(model.loss) and is_keras and not model.has_loss_weights


def outputs_without_logits(model, inputs, training):
    """Returns `Unprojected` outputs of a model, or logits if its `call` cannot leave them out."""
    if "project" not in inspect.signature(type(model).call).parameters:
        return model(inputs, training=training)
    x = model(inputs, training=training, project=False)
    half_product = half_product_for(x, getattr(model, "xla", True)) if training else None
    return Unprojected(x, model.output_embedding, training, half_product)


def metrics_of_sums(model, sample_weight, training=False):
    """Returns the metrics given to `compile` if `TokenSums` suffice for them, otherwise None.

    In training, without those that only evaluations count.
    """
    metrics = []
    for metric in model.metrics:
        if not hasattr(metric, "metrics"):
            continue  # the loss or a metric that a layer updates
        # Keras gives the sample weights to `weighted_metrics`, but not to `metrics`.
        is_weighted = sample_weight is None or not metric._user_metrics
        if not (metric.built and is_weighted):
            return None
        metrics += metric.metrics
    if not all(type(metric) in (Perplexity, TokenAccuracy) for metric in metrics):
        return None
    return [m for m in metrics if not training or getattr(m, "in_training", True)]


def counts_right(metrics):
    """Returns whether one of these metrics, a list or None, is an accuracy."""
    return any(isinstance(metric, TokenAccuracy) for metric in metrics or ())


def update_metrics(metrics, sums):
    """Updates each `Perplexity` and `TokenAccuracy` by `TokenSums`."""
    for metric in metrics:
        total = sums.unsmoothed if isinstance(metric, Perplexity) else sums.right
        mean = ops.divide_no_nan(total, sums.tokens)
        keras.metrics.Mean.update_state(metric, mean, sample_weight=sums.tokens)


def half_product_for(x, compiled):
    """Returns a function of two bfloat16 matrices that returns their product in float32.

    Returns None unless `x` is in bfloat16 and XLA compiles: TensorFlow's own kernels and
    `keras.ops` have no such product. The logits need more digits than bfloat16 has, but their
    product with float32 operands takes GPUs several times as long. Tensor cores multiply bfloat16
    and add in float32.
    """
    backend = keras.config.backend()
    if keras.backend.standardize_dtype(x.dtype) != "bfloat16" or not compiled:
        return None
    if backend == "jax":
        import jax.numpy as jnp

        return lambda a, b: jnp.matmul(a, b, preferred_element_type="float32")
    if backend == "tensorflow":
        import tensorflow as tf

        if not tf.executing_eagerly():
            return lambda a, b: tf.raw_ops.BatchMatMulV3(x=a, y=b, Tout=tf.float32)
    return None
