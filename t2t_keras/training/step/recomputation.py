"""Computes gradients with less memory: arrays are computed twice instead of being kept.

`gradients_with_recomputation` does so for cheap arrays, and `recomputed` for all arrays inside a
function.

Automatic differentiation keeps z for the gradient of a layer norm, and γ z + β for the gradients of
the products that follow. The second array can be computed from the first by two cheap operations.
Similarly, the joined kernels of attention can be computed again from the weights.
"""

import tensorflow as tf

# TensorFlow has no public function for this.
from tensorflow.compiler.tf2xla.ops.gen_xla_ops import xla_optimization_barrier

CHEAP = {
    "AddV2": tf.add,
    "Mul": tf.multiply,
    "ConcatV2": lambda *values_and_axis: tf.concat(values_and_axis[:-1], values_and_axis[-1]),
}
REARRANGEMENTS = {"Reshape": tf.reshape, "Transpose": tf.transpose}
COPIES = ("Identity", "IdentityN")


def gradients_with_recomputation(tape, loss, sources):
    """Returns `tape.gradient(loss, sources)`, with less memory in a graph without XLA.

    XLA merges equal operations, which would undo the change.
    """
    if tf.executing_eagerly():
        return tape.gradient(loss, sources)
    forward = loss.graph.get_operations()
    gradients = tape.gradient(loss, sources)
    Recomputation(forward, loss.graph.get_operations()[len(forward) :]).rewire()
    return gradients


class Recomputation:
    """Rewires the operations of a backward pass whose inputs are cheap functions of kept arrays.

    New operations compute these inputs again. They wait for the gradient of the first operation
    that needs them; otherwise, TensorFlow would run them in the forward pass.
    """

    def __init__(self, forward, backward):
        self.forward, self.backward = set(forward), backward
        self.kept = {x.ref() for op in backward if op.type != "Shape" for x in op.inputs}
        self.copies = {}

    def rewire(self):
        for op in self.backward:
            gradients = [x for x in op.inputs if x.op not in self.forward]
            for index, x in enumerate(op.inputs):
                if gradients and x.op in self.forward and self.is_cheap(x):
                    with tf.control_dependencies(gradients):
                        # TensorFlow has no public function for this.
                        op._update_input(index, self.copy(x))

    def is_cheap(self, x):
        """Returns whether `x` is a sum, product or concatenation of kept arrays and weights."""
        x = original(x)
        if x.op.type in REARRANGEMENTS:
            return self.is_cheap(x.op.inputs[0])
        return x.op.type in CHEAP and all(map(self.is_available, x.op.inputs))

    def is_available(self, x):
        x = original(x)
        if x.ref() in self.kept or x.op.type in ("Const", "ReadVariableOp"):
            return True
        if x.op.type in REARRANGEMENTS:
            return self.is_available(x.op.inputs[0])
        return self.is_cheap(x)

    def copy(self, x):
        """Returns `x`, computed again if it is cheap."""
        x = original(x)
        if not self.is_cheap(x):
            return x
        if x.ref() not in self.copies:
            function = (CHEAP | REARRANGEMENTS)[x.op.type]
            self.copies[x.ref()] = function(*map(self.copy, x.op.inputs))
        return self.copies[x.ref()]


def original(x):
    """Returns the array that `x` is a copy of, following operations that only pass it on."""
    while x.op.type in COPIES:
        x = x.op.inputs[x.value_index]
    return x


def recomputed(function, xla):
    """Returns a function with the same results, whose gradient computes it again.

    Args:
        function: function of structures of tensors to a structure of tensors, without other effects
            and without reading variables.
        xla: whether XLA compiles the gradient.
    """

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
