"""Measures the sentences per second of searches with a fixed number of steps."""

import dataclasses

from absl import flags

from t2t_keras.cli.benchmarks.rounds_flag import ROUNDS
from t2t_keras.cli.benchmarks.train import LENGTH, ROWS
from t2t_keras.cli.config_flag import CONFIG

SOURCE_LENGTH = flags.DEFINE_integer(
    "source_length", 24, "decode: tokens per source sentence.", lower_bound=1
)
FLAGS, READS_CONFIG = (SOURCE_LENGTH, LENGTH, ROWS, ROUNDS), True


def measure():
    if LENGTH.value < SOURCE_LENGTH.value:
        raise ValueError(
            "--length must be at least --source_length, because an output may have as many tokens "
            f"as its source. Received: --length={LENGTH.value}, "
            f"--source_length={SOURCE_LENGTH.value}"
        )
    import keras

    from t2t_keras.reproduction.timing import median_seconds

    config = CONFIG.value
    config.validate()
    if config.training.precision != "float32":
        keras.config.set_dtype_policy(config.training.precision)
    model = model_without_end(config.model)
    cases = [
        (rows, beam) for rows in sorted({1, ROWS.value}) for beam in sorted({1, config.search.beam})
    ]
    searches = [new_search(model, rows, beam) for rows, beam in cases]
    for search in searches:
        assert (search() > 0).sum() == search().shape[0] * LENGTH.value, "a search ended early"
    print(
        f"{SOURCE_LENGTH.value} source tokens, {LENGTH.value} steps, {config.training.precision}, "
        f"{keras.config.backend()}, medians of {ROUNDS.value} rounds"
    )
    for (rows, beam), median in zip(cases, median_seconds(searches, ROUNDS.value), strict=True):
        name = "greedy" if beam == 1 else f"beam {beam}"
        print(
            f"{name:<8} batch {rows:<5}{rows / median:>10.2f} sentences/s "
            f"({1e3 * median:,.0f} ms per batch)",
            flush=True,
        )


def model_without_end(config):
    """Returns a model with random weights whose output bias prevents the end token.

    All searches with it take the same number of steps.
    """
    import numpy as np

    from t2t_keras.transformer import Transformer

    model = Transformer(dataclasses.replace(config, output_bias=True))
    bias = np.zeros(config.vocab_size, "float32")
    bias[:3] = -1e4
    model.embedding.bias.assign(bias)
    return model


def new_search(model, rows, beam):
    """Returns a function that searches and returns the best tokens of each sentence."""
    import keras
    import numpy as np

    from t2t_keras.decoding.search import search
    from t2t_keras.decoding.search_config import SearchConfig

    config = SearchConfig(beam=beam, extra_length=LENGTH.value - SOURCE_LENGTH.value)
    random = np.random.default_rng(0)
    source = random.integers(4, model.config.vocab_size, (rows, SOURCE_LENGTH.value))
    source = source.astype("int32")
    if keras.config.backend() == "tensorflow":
        from t2t_keras.runs.search_graphs import graph_search

        decode = graph_search(model, config)
        return lambda: np.asarray(decode(source, range(rows)).tokens)[:, 0]
    import jax

    @jax.jit
    def decode(weights, source):
        with keras.StatelessScope(list(zip(model.variables, weights, strict=True))):
            return search(model, source, LENGTH.value, config).tokens

    weights = [weight.value for weight in model.variables]
    return lambda: np.asarray(decode(weights, source))[:, 0]
