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
    import tensorflow as tf

    # TensorFlow has no public function for this.
    from tensorflow.compiler.tf2xla.ops.gen_xla_ops import xla_optimization_barrier


def recompute_blocks(model, is_on):
    """Sets whether the training of a model recomputes its blocks.

    Args:
        model: a `SequenceModel`.
        is_on: whether it does.
    """
    check_boolean("recompute", is_on)
    stacks = [layer for layer in model.layers if isinstance(layer, Stack)]
    allowed = f"False for a {type(model).__name__}, which has no blocks of a Transformer"
    check(stacks or not is_on, "recompute", is_on, allowed)
    for stack in stacks:
        stack.call_in_training = functools.partial(call_block, model) if is_on else None


def call_block(model, block, *inputs, **masks):
    """Calls a block of a model in training. Its gradient computes the block again."""
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
    outputs, changed, losses = recomputed(function, getattr(model, "xla", False))(
        values, inputs, masks
    )
    for index, value in changed.items():
        variables[index].assign(value)
    for loss in losses:
        block.add_loss(loss)
    return outputs


def recomputed(function, xla):
    """Returns a function with the same results, whose gradient computes it again.

    Args:
        function: function of structures of tensors to a structure of tensors, without other effects
            and without reading variables.
        xla: whether XLA compiles the gradient.
    """
    if keras.config.backend() != "tensorflow":
        return keras.remat(function)

    def call(*structures):
        leaves = tf.nest.flatten(structures)
        tensors = [tf.convert_to_tensor(leaf) for leaf in leaves if leaf is not None]
        results = None

        def call_flat(tensors):
            nonlocal results
            remaining = iter(tensors)
            given = [None if leaf is None else next(remaining) for leaf in leaves]
            results = function(*tf.nest.pack_sequence_as(structures, given))
            return tf.nest.flatten(results)

        @tf.custom_gradient
        def differentiable(*tensors):
            def gradient(*upstream):
                given, upstream = after(upstream, tensors, xla)
                sources = [x for x in given if x.dtype.is_floating]
                with tf.GradientTape() as tape:
                    tape.watch(sources)
                    outputs = call_flat(given)
                floats = [i for i, output in enumerate(outputs) if output.dtype.is_floating]
                gradients = iter(
                    tape.gradient(
                        [outputs[i] for i in floats], sources, [upstream[i] for i in floats]
                    )
                )
                return [next(gradients) if x.dtype.is_floating else None for x in given]

            return call_flat(tensors), gradient

        outputs = differentiable(*tensors)
        return tf.nest.pack_sequence_as(results, outputs)

    return call


def after(upstream, tensors, xla):
    """Returns tensors that are available only after the upstream gradients, and these gradients.

    Otherwise, the same operations would be merged with those of the forward pass, or run with them.
    """
    if xla:
        results = xla_optimization_barrier([*tensors, *upstream])
        return results[: len(tensors)], results[len(tensors) :]
    with tf.control_dependencies(upstream):
        return [tf.identity(x) for x in tensors], upstream
