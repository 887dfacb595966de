"""Gradient checkpointing: the arrays inside a block are computed again instead of being kept.

The backward pass needs the arrays of the forward pass. With `recompute`, only the inputs of each
block are kept, and the backward pass of a block begins with its forward pass (Chen et al. 2016,
arXiv 1604.06174). Dropout draws the same numbers again.

`keras.RematScope` does not suffice: on TensorFlow, Keras' dropout would draw different numbers, and
on JAX, the states of its generators would leave the computation that is repeated.
"""

import functools

import keras

from t2t_keras.checks import check, check_boolean
from t2t_keras.layers.stack import Stack

if keras.config.backend() == "tensorflow":
    from t2t_keras.training.step.recomputation import recomputed
else:

    def recomputed(function, xla):
        return keras.remat(function)


def recompute_blocks(model, is_on, xla=False):
    """Sets whether the training of a model recomputes its blocks.

    Args:
        model: a `SequenceModel`.
        is_on: whether it does.
        xla: whether XLA compiles the gradients, on TensorFlow.
    """
    check_boolean("recompute", is_on)
    stacks = [layer for layer in model.layers if isinstance(layer, Stack)]
    allowed = f"False for a {type(model).__name__}, which has no blocks of a Transformer"
    check(stacks or not is_on, "recompute", is_on, allowed)
    for stack in stacks:
        stack.call_in_training = functools.partial(call_block, xla) if is_on else None


def call_block(xla, block, *inputs, **masks):
    """Calls a block in training. Its gradient computes the block again.

    Args:
        xla: see `recompute_blocks`.
        block: the block.
        *inputs, **masks: its tensors.
    """
    variables = [*block.variables, *block.metrics_variables]

    # All that changes outside is a result, and all that varies is an argument.
    def function(values, inputs, masks):
        mapping = zip(variables, values, strict=True)
        with keras.StatelessScope(mapping, collect_losses=True) as scope:
            before = [scope.get_current_value(variable) for variable in variables]
            outputs = block(*inputs, **masks, training=True)
        after = [scope.get_current_value(variable) for variable in variables]
        changed = {i: new for i, new in enumerate(after) if new is not before[i]}
        return outputs, changed, list(scope.losses)

    values = [variable.value for variable in variables]
    outputs, changed, losses = recomputed(function, xla)(values, inputs, masks)
    for index, value in changed.items():
        variables[index].assign(value)
    for loss in losses:
        block.add_loss(loss)
    return outputs
