"""Small models with searches that end, and the results of these searches as NumPy arrays."""

import keras
import numpy as np
from keras import ops
from support.models.helpers import array, compiled, ids, tiny_model

from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import advance, method_of
from t2t_keras.decoding.search_config import SearchConfig

SOURCE = ids(5, 6, [6, 5, 4, 3, 2], vocab_size=40)
COMPILED = {}  # see `run_search`


def model_that_ends(seed=1, end=3.0, **settings):
    """Returns a model whose outputs end after a few tokens or after many."""
    model = tiny_model(vocab_size=40, output_bias=True, **settings)
    random = np.random.default_rng(seed)
    for weight in model.weights:  # equal on every backend
        if len(weight.shape) == 2:
            weight.assign(random.normal(0, 0.5, weight.shape).astype("float32"))
    bias = random.normal(size=40).astype("float32")
    bias[2] = end
    model.embedding.bias.assign(bias)
    return model


def set_bias(model, biases):
    """Sets the output biases of some tokens, given as {id: bias}."""
    bias = array(model.embedding.bias).copy()
    for token, value in biases.items():
        bias[token] = value
    model.embedding.bias.assign(bias)


def run_search(
    model, source=SOURCE, length=30, prefix=None, indices=None, method_of=method_of, **settings
):
    """Returns the tokens and the scores that a search finds.

    The search is compiled with the weights as inputs, so that models with the same configuration
    share a compiled search.
    """
    config = SearchConfig(**settings)
    extras = {} if prefix is None else {"prefix": ops.convert_to_tensor(prefix, "int32")}
    if config.method == "sample":
        indices = range(len(source)) if indices is None else indices
        extras["draws"] = ops.array(draws_of(indices, length, config))
        config.seed = 0  # the draws are an input
    models = getattr(model, "models", [model])
    variables = [weight for each in models for weight in each.variables]
    source = ops.convert_to_tensor(source, "int32")
    inputs = ([weight.value for weight in variables], source, extras)
    key = (
        *(method_of, length, repr(config), *extras),
        *(repr((each.config, each.dtype_policy)) for each in models),
    )
    if key not in COMPILED:
        COMPILED[key] = compiled_search(method_of(model, config), variables, length, inputs)
    tokens, scores = COMPILED[key](*inputs)
    return array(tokens).astype("int32"), array(scores)


def compiled_search(method, variables, length, inputs):
    """Compiles a search as a function of weights, source ids and extras."""

    def decode(weights, source, extras):
        with keras.StatelessScope(list(zip(variables, weights, strict=True))):
            state = method.start(source, length, length, extras)
            return method.hypotheses(advance(method, state, length))

    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(decode)
    import tensorflow as tf

    weights, source, extras = inputs
    signature = [
        [tf.TensorSpec.from_tensor(tf.convert_to_tensor(weight)) for weight in weights],
        tf.TensorSpec([None, None], source.dtype),
        {name: tf.TensorSpec([None, *x.shape[1:]], x.dtype) for name, x in extras.items()},
    ]
    return tf.function(decode, input_signature=signature, autograph=False)


def uncached_log_p(model, source, target):
    """Returns log P of each target token in float64, `[rows, length]`, computed without a cache."""
    log_p = uncached_log_softmax(model, source, target)
    return np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]


def uncached_log_softmax(model, source, target):
    """Returns log P of all tokens at each position of the targets, in float64."""
    inputs = {"source": source, "target": np.insert(target[:, :-1], 0, 1, axis=1)}
    forward = compiled(model, xla=False) if keras.backend.backend() == "jax" else model
    logits = array(forward({name: ops.array(x) for name, x in inputs.items()})).astype("float64")
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def scores_of(model, source, tokens, alpha=0.6):
    """Returns the score of one hypothesis for each sentence, computed without a cache."""
    is_token = tokens > 0
    log_p = (uncached_log_p(model, source, tokens) * is_token).sum(-1)
    return log_p / ((5 + is_token.sum(-1)) / 6) ** alpha
