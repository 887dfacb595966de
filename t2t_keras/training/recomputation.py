"""Computes gradients with less memory: cheap arrays are computed twice instead of being kept.

Automatic differentiation keeps z for the gradient of a layer norm, and γ z + β for the gradients of
the products that follow. The second array can be computed from the first by two cheap operations.
Similarly, the joined kernels of attention can be computed again from the weights.
"""

import tensorflow as tf

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
