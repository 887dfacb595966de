"""Sentences a second of a search that makes a known number of steps."""

import dataclasses

import keras
import numpy as np
from absl import flags

from t2t_keras.cli.benchmarks.timing import ROUNDS, medians_of
from t2t_keras.cli.benchmarks.train import LENGTH, ROWS
from t2t_keras.cli.main import CONFIG
from t2t_keras.decoding.search import search
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.transformer import Transformer

SOURCE = flags.DEFINE_integer(
    "source_length", 24, "decode: tokens in a source sentence.", lower_bound=1
)


def measure():
    config = CONFIG.value
    config.validate()
    if LENGTH.value < SOURCE.value:
        raise ValueError(
            f"--length={LENGTH.value} steps: an output may be as long as its source, which has "
            f"--source_length={SOURCE.value}. Give as many steps, or more"
        )
    if config.training.precision != "float32":
        keras.config.set_dtype_policy(config.training.precision)
    model = model_that_never_ends(config.model)
    cases = [
        (rows, beam) for rows in sorted({1, ROWS.value}) for beam in sorted({1, config.search.beam})
    ]
    calls = [a_search(model, rows, beam) for rows, beam in cases]
    for call in calls:
        assert (call() > 0).sum() == call().shape[0] * LENGTH.value, "no search ended early"
    print(
        f"{SOURCE.value} source tokens, {LENGTH.value} steps, {config.training.precision}, "
        f"{keras.config.backend()}, medians of {ROUNDS.value} rounds"
    )
    for (rows, beam), median in zip(cases, medians_of(calls, ROUNDS.value), strict=True):
        name = "greedy" if beam == 1 else f"beam {beam}"
        print(
            f"{name:<8} batch {rows:<5}{rows / median:>10.2f} sentences/s "
            f"({1e3 * median:,.0f} ms a batch)",
            flush=True,
        )


def model_that_never_ends(config):
    """Random weights, and a bias that forbids the end: how long a search takes is known."""
    model = Transformer(dataclasses.replace(config, output_bias=True))
    bias = np.zeros(config.vocab_size, "float32")
    bias[:3] = -1e4
    model.embedding.bias.assign(bias)
    return model


def a_search(model, rows, beam):
    """A call that searches and returns the best tokens of each sentence."""
    config = SearchConfig(beam=beam, extra_length=LENGTH.value - SOURCE.value)
    random = np.random.default_rng(0)
    source = random.integers(4, model.config.vocab_size, (rows, SOURCE.value)).astype("int32")
    if keras.config.backend() == "tensorflow":
        from t2t_keras.runs.translating import decoder

        decode = decoder(model, config)
        return lambda: np.asarray(decode(source, range(rows)).tokens)[:, 0]
    import jax

    @jax.jit
    def decode(weights, source):
        with keras.StatelessScope(list(zip(model.variables, weights, strict=True))):
            return search(model, source, LENGTH.value, config).tokens

    weights = [weight.value for weight in model.variables]
    return lambda: np.asarray(decode(weights, source))[:, 0]
