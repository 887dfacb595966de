"""Small models whose searches end, and searches of them, for the tests of all searches."""

import numpy as np
from helpers import array, ids, tiny_model
from keras import ops

from t2t_keras.decoding.search import search
from t2t_keras.decoding.search_config import SearchConfig

SOURCE = ids(5, 6, [6, 5, 4, 3, 2], vocab_size=40)


def model_that_ends(seed=1, end=3.0, **settings):
    """Sentences end after a few tokens or after many, each at another time."""
    model = tiny_model(vocab_size=40, output_bias=True, **settings)
    random = np.random.default_rng(seed)
    for weight in model.weights:  # the same on every backend
        if len(weight.shape) == 2:
            weight.assign(random.normal(0, 0.5, weight.shape).astype("float32"))
    bias = random.normal(size=40).astype("float32")
    bias[2] = end
    model.embedding.bias.assign(bias)
    return model


def found(model, source=SOURCE, length=30, **settings):
    arguments = {name: settings.pop(name) for name in ("prefix", "indices") if name in settings}
    result = search(model, ops.array(source), length, SearchConfig(**settings), **arguments)
    return array(result.tokens).astype("int32"), array(result.scores)


def log_p_of(model, source, tokens):
    """log P of one hypothesis, through the whole model."""
    inputs = {"source": source[None], "target": np.insert(tokens[:-1], 0, 1)[None]}
    logits = array(model({name: ops.array(x) for name, x in inputs.items()}))[0].astype("float64")
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return log_p[np.arange(len(tokens)), tokens][tokens > 0].sum()


def score_of(model, source, tokens, alpha=0.6):
    return log_p_of(model, source, tokens) / ((5 + (tokens > 0).sum()) / 6) ** alpha
