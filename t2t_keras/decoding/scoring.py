"""Forced decoding: the probability that a model assigns to a known target."""

from keras import ops

from t2t_keras.cross_entropy import token_losses
from t2t_keras.decoding.rows import BEGIN, PADDING


def log_probabilities(model, source, target):
    """Returns log P of every target token, given the source and the tokens before it.

    Args:
        model: a `Transformer` or an `Ensemble`.
        source: ids `[rows, source_length]`: tokens, end token, padding.
        target: ids `[rows, target_length]`: tokens, end token, padding.

    Returns:
        float32 `[rows, target_length]`, natural logarithms; 0 at padding.
    """
    source, target = (ops.cast(ids, "int32") for ids in (source, target))
    begin = ops.full_like(target[:, :1], BEGIN)
    decoder_input = ops.concatenate([begin, target[:, :-1]], axis=1)
    logits = model({"source": source, "target": decoder_input})
    log_p = -token_losses(target, logits)[1]
    return ops.where(ops.not_equal(target, PADDING), log_p, 0.0)
