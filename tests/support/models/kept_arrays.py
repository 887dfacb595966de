"""The arrays that a forward pass keeps for its backward pass, from TensorFlow's graph."""

import collections

import tensorflow as tf

# Operations whose result has the memory of their argument.
VIEWS = ("Reshape", "Identity", "IdentityN", "ExpandDims", "Squeeze")
CONSTANTS = ("Placeholder", "Const", "ReadVariableOp")


def kept_arrays(function, *inputs, differentiate=tf.GradientTape.gradient):
    """Returns a `Counter` of the shapes of floating-point arrays, without inputs and weights.

    Args:
        function: a function of `inputs`.
        inputs: arrays; gradients are computed by those of floating-point numbers and by weights.
        differentiate: a function of a tape, a loss and a list of arrays; returns its gradients.
    """

    @tf.function(autograph=False)
    def keep(upstream, *inputs):
        with tf.GradientTape() as tape:
            floats = [x for x in inputs if x.dtype.is_floating]
            tape.watch(floats)
            loss = tf.reduce_sum(function(*inputs)) * upstream
        forward = loss.graph.get_operations()
        gradients = differentiate(tape, loss, floats + list(tape.watched_variables()))
        kept.extend(crossing(upstream, forward, loss.graph))
        return [tf.convert_to_tensor(x) for x in gradients if x is not None]

    kept = []
    specs = [tf.TensorSpec.from_tensor(tf.convert_to_tensor(x)) for x in inputs]
    keep.get_concrete_function(tf.TensorSpec([]), *specs)
    return collections.Counter(tuple(x.shape) for x in kept)


def crossing(upstream, forward, graph):
    """Returns arrays of the forward pass that wait for a gradient, which depends on `upstream`."""
    backward, waiting, before = graph.get_operations()[len(forward) :], {upstream.op}, 0
    while len(waiting) > before:
        before = len(waiting)
        for op in backward:
            if not waiting.isdisjoint([*(x.op for x in op.inputs), *op.control_inputs]):
                waiting.add(op)
    read = [memory_of(x) for op in backward if op in waiting for x in op.inputs]
    kept = [x for x in read if x.op not in waiting and x.op.type not in CONSTANTS]
    return {x.ref(): x for x in kept if x.dtype.is_floating}.values()


def memory_of(x):
    """Returns the array whose memory `x` shares."""
    while x.op.type in VIEWS:
        x = x.op.inputs[x.value_index if x.op.type == "IdentityN" else 0]
    return x
