"""Gradients of an encoder's outputs with respect to the embedded source, by distance."""

import contextlib

import numpy as np
import tensorflow as tf

from pipelines.special_ids import END
from t2t_keras.runs.run import Run
from t2t_keras.transformer import Transformer

QUERIES = 8  # positions i that are sampled from each line


def gradients_over_distance(folder, step, lines):
    """Measures gradient norms in the encoder of a run for `analysed`, on source lines.

    For each layer k, this function projects the output at position i onto a random vector, and
    differentiates the result with respect to the embedding at position j. The gradient's norm is
    averaged over all pairs (i, j) with the same |i − j|.

    Returns:
        A list with an entry for each k = 1, 2, …: the list of mean norms at distances 0, 1, ….
        The mean is NaN at distances that do not occur.
    """
    run, random = Run(folder), np.random.default_rng(0)
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
    """Returns the norm at each position of a sentence, `[length]`; 0 if `gradient` is None."""
    if gradient is None:
        return np.zeros(length)
    return np.linalg.norm(gradient[0, :length].numpy(), axis=-1)


def layer_outputs(model, source, tape):
    """Returns the embedded source, watched by the tape, and a list with the output of each layer.

    All have the shape `[1, length, width]`.
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
    """Returns all layers of an encoder except the first one."""
    if isinstance(model, Transformer):
        return model.encoder.blocks[1:]
    # In `GNMT`, both directions of the first layer come before these layers.
    depth = model.config.num_layers
    return model.encoder[len(model.encoder) - depth + 1 :]


@contextlib.contextmanager
def observed(layer, observe):
    """Calls `observe(arguments, output)` after each call of a layer in the `with` block."""

    def observed_call(*arguments, **options):
        output = type(layer).call(layer, *arguments, **options)
        observe(arguments, output)
        return output

    layer.call = observed_call
    try:
        yield
    finally:
        del layer.call
