"""What a layer costs over the length of its sequence: seconds and memory, forward and backward.

Each measurement has a process of its own, forked before the backend has begun to work, so that
none finds what another has left behind.
"""

import multiprocessing
import os
import signal
import textwrap
import threading

import keras

from t2t_keras.cli.benchmarks.timing import medians_of

SHORT = 16  # positions of the call that sets everything up
MEMORY = {
    "tensorflow": "the most that TensorFlow's allocator held during a forward and backward call, "
    "beside weights and input",
    "jax": "what XLA allocates for a forward and backward call: results and everything in between",
}


def in_a_process(function, *arguments):
    """What `function` returns, called in a forked process; a RuntimeError if that fails."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def call():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says that it was interrupted
        threading.Thread(target=end_with_parent, daemon=True).start()
        receiver.close()
        try:
            sender.send((function(*arguments), None))
        except Exception as error:
            sender.send((None, textwrap.shorten(f"{type(error).__name__}: {error}", 300)))

    child = context.Process(target=call)
    child.start()
    sender.close()
    try:
        result, failure = receiver.recv()
        child.join()
    except EOFError:
        child.join()
        result, failure = None, f"the process ended with code {child.exitcode}"
    if failure:
        raise RuntimeError(failure)
    return result


def end_with_parent():
    """Ends this process with its parent, whose lock on the output folder it would hold on to."""
    multiprocessing.parent_process().join()
    os._exit(1)


def seconds(new_layer, lengths, width, rounds):
    """Seconds of a layer on one sequence, forward, and forward and backward ("training").

    Args:
        new_layer: makes the layer.
        lengths: of the sequence. All are timed in turn, since it is they that are compared.
        width: of the sequence.
        rounds: timed calls of each; the medians count.

    Returns:
        For each length a dict.
    """
    layer = new_layer()
    layer.build((1, None, width))
    calls = [call for n in lengths for call in compiled(layer, inputs(n, width))[:2]]
    medians = medians_of(calls, rounds)
    pairs = zip(medians[::2], medians[1::2], strict=True)
    return [{"forward": forward, "training": training} for forward, training in pairs]


def memory(new_layer, length, width):
    """Bytes of a layer's forward and backward call."""
    # TensorFlow's plain allocator for processors does not count all that it gives; this one does.
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    layer = new_layer()
    layer.build((1, None, width))
    return compiled(layer, inputs(length, width))[2]()


def inputs(length, width):
    """A sequence, and the gradient of a loss by what the layer makes of it."""
    return [keras.random.normal((1, length, width)) for _ in range(2)]


def compiled(layer, given):
    """Forward, training and memory used, as functions without arguments."""
    return {"tensorflow": on_tensorflow, "jax": on_jax}[keras.config.backend()](layer, given)


def on_tensorflow(layer, given):
    """Plain graphs, made for any length."""
    import tensorflow as tf

    weights = [weight.value for weight in layer.trainable_weights]
    width = given[0].shape[-1]
    sequence = tf.TensorSpec([1, None, width])

    @tf.function(input_signature=[sequence], autograph=False)
    def forward(x):
        return layer(x)

    @tf.function(input_signature=[sequence, sequence], autograph=False)
    def training(x, gradient):
        with tf.GradientTape() as tape:
            tape.watch(x)
            output = layer(x)
        return [output, *tape.gradient(output, [x, *weights], output_gradients=gradient)]

    def used():
        wait(training(*inputs(SHORT, width)))
        device = "GPU:0" if tf.config.list_physical_devices("GPU") else "CPU:0"
        tf.config.experimental.reset_memory_stats(device)
        before = tf.config.experimental.get_memory_info(device)["current"]
        wait(training(*given))
        return tf.config.experimental.get_memory_info(device)["peak"] - before

    return lambda: wait(forward(given[0])), lambda: wait(training(*given)), used


def on_jax(layer, given):
    """Compiled by XLA for one length, which then knows the memory exactly."""
    import jax

    weights = [weight.value for weight in layer.trainable_variables]
    others = [variable.value for variable in layer.non_trainable_variables]

    def output(weights, x):
        return layer.stateless_call(weights, others, x)[0]

    def gradients(weights, x, gradient):
        result, backward = jax.vjp(output, weights, x)
        return result, backward(gradient)

    forward = jax.jit(output).lower(weights, given[0]).compile()
    training = jax.jit(gradients).lower(weights, *given).compile()

    def used():
        found = training.memory_analysis()
        return found.temp_size_in_bytes + found.output_size_in_bytes

    return (
        lambda: jax.block_until_ready(forward(weights, given[0])),
        lambda: jax.block_until_ready(training(weights, *given)),
        used,
    )


def wait(results):
    """Returns when the results are there: a number of the first one is fetched."""
    first = results[0] if isinstance(results, list) else results
    return float(first[0, 0, 0])
