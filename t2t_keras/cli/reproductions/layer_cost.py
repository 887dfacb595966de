"""What one layer costs at one length: seconds and memory, forward and backward.

Each measurement has a process of its own, forked before the backend has begun to work: its memory
is then nobody else's.
"""

import contextlib
import multiprocessing
import resource
import signal
import sys

import keras
import numpy as np
from keras import ops

from t2t_keras.cli.benchmarks.timing import medians_of

SHORT = 16  # positions of the call that sets everything up
MEMORY = {
    "tensorflow": "the process' peak of resident memory during a first forward and backward call, "
    "above what it had with weights and input in place",
    "jax": "what XLA allocates for a forward and backward call: results and everything in between",
}


def in_a_process(function, *arguments):
    """What `function` returns, called in a forked process."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def call():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says that it was interrupted
        receiver.close()
        sender.send(function(*arguments))

    child = context.Process(target=call)
    child.start()
    sender.close()
    with contextlib.suppress(EOFError):
        result = receiver.recv()
        child.join()
        return result
    child.join()
    raise MemoryError(f"the process ended with code {child.exitcode}")


def cost(new_layer, length, width, rounds):
    """Seconds and bytes of a layer on one sequence.

    Args:
        new_layer: makes the layer.
        length: n.
        width: of its input.
        rounds: timed calls, forward and backward in turn; the median counts.

    Returns:
        A dict: seconds "forward" and "training", which is forward and backward, and bytes "memory".
    """
    layer = new_layer()
    layer.build((1, None, width))
    compiled = {"tensorflow": on_tensorflow, "jax": on_jax}[keras.config.backend()]
    forward, training, memory = compiled(layer, inputs(length, width), inputs(SHORT, width))
    used = memory()
    seconds = medians_of([forward, training], rounds)
    return {"forward": seconds[0], "training": seconds[1], "memory": used}


def inputs(length, width):
    """A sequence, and the gradient of a loss by what the layer makes of it."""
    random = np.random.default_rng(length)
    return [ops.array(random.normal(size=(1, length, width)), "float32") for _ in range(2)]


def on_tensorflow(layer, given, short):
    """Forward, training and memory as functions without arguments: plain graphs for any length."""
    import tensorflow as tf

    weights = [weight.value for weight in layer.trainable_weights]
    sequence = tf.TensorSpec([1, None, given[0].shape[-1]])

    @tf.function(input_signature=[sequence], autograph=False)
    def forward(x):
        return layer(x)

    @tf.function(input_signature=[sequence, sequence], autograph=False)
    def training(x, gradient):
        with tf.GradientTape() as tape:
            tape.watch(x)
            output = layer(x)
        return tape.gradient(output, [x, *weights], output_gradients=gradient)

    def memory():
        wait(training(*short))
        if tf.config.list_physical_devices("GPU"):
            tf.config.experimental.reset_memory_stats("GPU:0")
            before = tf.config.experimental.get_memory_info("GPU:0")["current"]
            wait(training(*given))
            return tf.config.experimental.get_memory_info("GPU:0")["peak"] - before
        before = peak_resident()
        wait(training(*given))
        return peak_resident() - before

    return lambda: wait(forward(given[0])), lambda: wait(training(*given)), memory


def on_jax(layer, given, short):
    """The same for JAX, which compiles for one length and then knows the memory exactly."""
    import jax

    weights = [weight.value for weight in layer.trainable_variables]
    others = [variable.value for variable in layer.non_trainable_variables]

    def output(weights, x):
        return layer.stateless_call(weights, others, x)[0]

    def gradients(weights, x, gradient):
        return jax.vjp(output, weights, x)[1](gradient)

    forward = jax.jit(output).lower(weights, given[0]).compile()
    training = jax.jit(gradients).lower(weights, *given).compile()

    def memory():
        found = training.memory_analysis()
        return found.temp_size_in_bytes + found.output_size_in_bytes

    return (
        lambda: jax.block_until_ready(forward(weights, given[0])),
        lambda: jax.block_until_ready(training(weights, *given)),
        memory,
    )


def wait(results):
    """Returns when the results are there: a number of the first one is fetched."""
    first = results[0] if isinstance(results, list) else results
    return float(first[0, 0, 0])


def peak_resident():
    """Bytes of this process that were in memory at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
