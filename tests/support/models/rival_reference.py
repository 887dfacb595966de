"""Parts of the rivals' forward passes in NumPy float64, for one sentence: `[length, width]`."""

import numpy as np
from keras import ops
from support.models.helpers import array, pairs
from support.models.rival_models import rival


def check_logits(name, forward):
    """Compares the logits of a rival with those of a function of one sentence pair."""
    model = rival(name)
    weights = named_weights(model)
    found = array(model(pairs(vocab_size=model.config.source_vocab_size or 50)))
    for i, source, target in real_pairs(model):
        expected = forward(weights, model.config, source, target)
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-5)


def named_weights(model):
    """Returns the weights of a model as float64, by path without the model's name."""
    return {
        weight.path.removeprefix(f"{model.name}/"): ops.convert_to_numpy(weight).astype("float64")
        for weight in model.weights
    }


def real_pairs(model):
    """Yields index, source and target of sentence pairs, without the padding of the sources."""
    inputs = pairs(vocab_size=model.config.source_vocab_size or model.config.vocab_size)
    for i, (source, target) in enumerate(zip(inputs["source"], inputs["target"], strict=True)):
        yield i, source[source > 0], target


def linear(weights, name, x):
    return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def convolution(weights, name, x, kernel, before, dilation=1):
    """Convolves x; a window begins `before` vectors before its position."""
    matrices = np.split(weights[f"{name}/product/kernel"], kernel)
    result = np.tile(weights[f"{name}/product/bias"], (len(x), 1))
    for position in range(len(x)):
        for i, matrix in enumerate(matrices):
            read = position + (i - before) * dilation
            if 0 <= read < len(x):
                result[position] += x[read] @ matrix
    return result


def normalized(weights, name, x):
    x = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6)
    return x * weights[f"{name}/gamma"] + weights[f"{name}/beta"]


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def logits(weights, x):
    """Projects decoder outputs with the output matrix, shared or not."""
    name = "output_embedding" if "output_embedding/matrix" in weights else "embedding"
    return x @ weights[f"{name}/matrix"].T + weights.get(f"{name}/bias", 0)


def source_matrix(weights):
    return weights.get("source_embedding/matrix", weights["embedding/matrix"])
