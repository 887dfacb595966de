"""Gradients of an encoder's vectors with respect to the embedded source, by distance."""

import contextlib

import numpy as np
import tensorflow as tf

from pipelines.special_ids import END
from t2t_keras.runs.run import Run
from t2t_keras.transformer import Transformer

QUERIES = 8  # positions sampled from each line


def gradients_over_distance(folder, step, lines, seed=0):
    """Measures the encoder of a run; it loads the model, so call it in a child process.

    The gradient of a random projection of the vector at position i, after k layers, with respect to
    the embedding at position j: its norm is averaged over all pairs with the same |i − j|.

    Args:
        folder: folder of the run.
        step: step of the checkpoint.
        lines: list of source lines.
        seed: random seed for the projections and the positions i.

    Returns:
        A list over k = 1, 2, … of lists over the distance; NaN at distances that do not occur.
    """
    run, random = Run(folder), np.random.default_rng(seed)
    model, tokenizer = run.loaded(str(step)), run.tokenizer().source
    sources = [np.array([[*ids, END]], "int32") for ids in tokenizer.encode(lines)]
    longest = max(source.shape[1] for source in sources)
    sums = np.zeros((model.config.num_layers, longest))
    counts = np.zeros(longest)
    for source in sources:
        length = source.shape[1]
        queries = random.choice(length, min(QUERIES, length), replace=False)
        norms = gradient_norms(model, source, queries, random)  # [layers, queries, positions]
        distances = np.abs(queries[:, None] - np.arange(length))
        np.add.at(counts, distances, 1)
        for layer, total in zip(norms, sums, strict=True):
            np.add.at(total, distances, layer)
    return np.where(counts, sums / np.maximum(counts, 1), np.nan).tolist()


def gradient_norms(model, source, queries, random):
    """Returns the norms of the gradients for one sentence, `[layers, queries, positions]`."""
    with tf.GradientTape(persistent=True) as tape:
        embedded, outputs = layer_outputs(model, source, tape)
        projections = [
            [tf.reduce_sum(x[0, i] * random.normal(size=x.shape[-1])) for i in queries]
            for x in outputs
        ]
    return np.array(
        [
            [norms(tape.gradient(projection, embedded), source.shape[1]) for projection in layer]
            for layer in projections
        ]
    )


def norms(gradient, length):
    """Returns the norms at the positions of a sentence, `[length]`; without a gradient, 0."""
    if gradient is None:
        return np.zeros(length)
    return np.linalg.norm(gradient[0, :length].numpy(), axis=-1)


def layer_outputs(model, source, tape):
    """Encodes a source sentence.

    Returns:
        The embedded source, watched by the tape, and a list of the vectors after each layer, all of
        shape `[1, length, width]`.
    """
    embedded, streams = [], []

    def watch(arguments, output):
        tape.watch(output)
        embedded.append(output)

    with contextlib.ExitStack() as stack:
        stack.enter_context(observed(model.source_embedding, watch))
        for layer in later_layers(model):
            stack.enter_context(observed(layer, lambda arguments, _: streams.append(arguments[0])))
        streams.append(model.encode(source))
    return embedded[0], streams


def later_layers(model):
    """Returns the layers of an encoder from the second on: they read the vectors of the first."""
    if isinstance(model, Transformer):
        return model.encoder.blocks[1:]
    # The first layer of `GNMT`, with its two directions, is not in the list.
    depth = model.config.num_layers
    return model.encoder[len(model.encoder) - depth + 1 :]


@contextlib.contextmanager
def observed(layer, observe):
    """Calls `observe(arguments, output)` after each call of a layer inside the block."""

    def observed_call(*arguments, **options):
        output = type(layer).call(layer, *arguments, **options)
        observe(arguments, output)
        return output

    layer.call = observed_call
    try:
        yield
    finally:
        del layer.call
