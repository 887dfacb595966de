"""Guided alignment: one attention head is trained to align words as an aligner did.

Garg et al. 2019, "Jointly Learning to Align and Translate with Transformer Models" (arXiv
1909.02074): the cross-entropy between the head's weights and given alignments is added to the loss.
Tags and alignments of translations are then placed by this head.
"""

from t2t_keras.checks import check
from t2t_keras.ops import ops  # Keras is not loaded yet: searches without it import this file

COLUMN = "alignments"  # the input of a model with the alignments of a batch
HEAD = 0  # index of the guided head
NO_WEIGHTS = "0 with blocks that return no weights named 'cross_attention'"
TINY = 1e-6  # keeps the logarithm of a weight of 0 finite


def aligning_layer(layers):
    """Returns the index of the penultimate of `layers` decoder layers, or of the only one.

    It aligns words better than its neighbors (Garg et al. 2019).
    """
    return max(layers - 2, 0)


def decode_and_align(model, inputs, columns):
    """Returns what `model.decode` does in training, and adds the loss of the guided head.

    Args:
        model: a `Transformer` that was compiled with `guided_alignment`.
        inputs: its inputs, with the columns "alignments" and perhaps "weights".
        columns: further arguments of `decode`.
    """
    target, weights = inputs["target"], inputs.get("weights")
    x, heads = model.decode(inputs["source"], target, True, return_weights=True, **columns)
    name = f"{aligning_layer(model.config.layers[1])}/cross_attention"
    check(name in heads, "guided_alignment", model.guided_alignment, NO_WEIGHTS)
    attention = heads[name][:, HEAD]
    losses = alignment_losses(attention, inputs[COLUMN])  # [batch, target_length]
    tokens = ops.cast(ops.not_equal(target, 0), losses.dtype)
    if weights is not None:
        tokens = tokens * weights[:, None]
    mean = ops.divide_no_nan(ops.sum(losses * tokens), ops.sum(tokens))
    model.add_loss(model.guided_alignment * mean)
    return x


def alignment_losses(attention, linked):
    """Returns the cross-entropy of each target position in nats; 0 if it has no link.

    Args:
        attention: weights of a head, `[batch, target_length, source_length]`.
        linked: 1 for each pair of pieces whose words are linked, otherwise 0; of the same shape.
            The links of a target piece share its probability evenly.
    """
    attention = ops.cast(attention, "float32")
    linked = ops.cast(linked, attention.dtype)
    total = ops.sum(linked * ops.log(attention + TINY), axis=-1)
    return -ops.divide_no_nan(total, ops.sum(linked, axis=-1))
