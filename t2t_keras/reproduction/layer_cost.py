"""Measures the seconds and bytes that a layer needs at several sequence lengths."""

import os

import keras

from t2t_keras.reproduction.child_process import call_in_child
from t2t_keras.reproduction.timing import median_seconds

SHORT = 16  # positions in the warm-up call
# {measure: (title with unit, factor of that unit)}
MEASURES = {
    "forward": ("forward, ms", 1e3),
    "training": ("forward and backward, ms", 1e3),
    "memory": ("memory, forward and backward, MB", 1e-6),
}
MEMORY = {
    "tensorflow": "the peak of TensorFlow's allocator during a forward and backward call, without "
    "weights and input",
    "jax": "XLA's allocation for a forward and backward call: results and intermediate arrays",
}


def costs(new_layer, lengths, width, rounds):
    """Returns {"forward", "training", "memory"} of a layer for each length, in seconds and bytes.

    Every measurement of memory, and the times of all lengths together, have their own process.
    """
    sizes = [call_in_child(memory, new_layer, n, width) for n in lengths]
    times = call_in_child(seconds, new_layer, lengths, width, rounds)
    return [{**time, "memory": size} for time, size in zip(times, sizes, strict=True)]


def seconds(new_layer, lengths, width, rounds):
    """Times a layer's forward call, and its forward and backward call, on single sequences.

    The lengths are timed in turn, because their times are compared with each other. Returns
    {"forward": median seconds, "training": median seconds of both} for each length.
    """
    layer = new_layer()
    layer.build((1, None, width))
    calls = [call for n in lengths for call in compiled(layer, sample(n, width))[:2]]
    medians = median_seconds(calls, rounds)
    pairs = zip(medians[::2], medians[1::2], strict=True)
    return [{"forward": forward, "training": training} for forward, training in pairs]


def memory(new_layer, length, width):
    """Returns the number of bytes that a layer's forward and backward call allocates."""
    # TensorFlow's plain CPU allocator does not count all allocations; the BFC allocator does.
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    layer = new_layer()
    layer.build((1, None, width))
    return compiled(layer, sample(length, width))[2]()


def sample(length, width):
    """Returns a random sequence and a random gradient with respect to the layer's output."""
    return [keras.random.normal((1, length, width)) for _ in range(2)]


def compiled(layer, inputs):
    """Returns a built layer's forward call, training call, and memory of the training call."""
    return {"tensorflow": on_tensorflow, "jax": on_jax}[keras.config.backend()](layer, inputs)


def on_tensorflow(layer, inputs):
    """Compiles TensorFlow graphs, which accept any length."""
    import tensorflow as tf

    weights = [weight.value for weight in layer.trainable_weights]
    width = inputs[0].shape[-1]
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

    def allocated():
        wait(training(*sample(SHORT, width)))
        device = "GPU:0" if tf.config.list_physical_devices("GPU") else "CPU:0"
        tf.config.experimental.reset_memory_stats(device)
        before = tf.config.experimental.get_memory_info(device)["current"]
        wait(training(*inputs))
        return tf.config.experimental.get_memory_info(device)["peak"] - before

    return lambda: wait(forward(inputs[0])), lambda: wait(training(*inputs)), allocated


def on_jax(layer, inputs):
    """Compiles with XLA for a single length; XLA then reports the exact allocation."""
    import jax

    weights = [weight.value for weight in layer.trainable_variables]
    others = [variable.value for variable in layer.non_trainable_variables]

    def output(weights, x):
        return layer.stateless_call(weights, others, x)[0]

    def gradients(weights, x, gradient):
        result, backward = jax.vjp(output, weights, x)
        return result, backward(gradient)

    forward = jax.jit(output).lower(weights, inputs[0]).compile()
    training = jax.jit(gradients).lower(weights, *inputs).compile()

    def allocated():
        analysis = training.memory_analysis()
        return analysis.temp_size_in_bytes + analysis.output_size_in_bytes

    return (
        lambda: jax.block_until_ready(forward(weights, inputs[0])),
        lambda: jax.block_until_ready(training(weights, *inputs)),
        allocated,
    )


def wait(results):
    """Waits for results by fetching an element of the first one."""
    first = results[0] if isinstance(results, list) else results
    return float(first[0, 0, 0])
