"""Seconds and memory of translations by a base model with random weights, as ids.

Its outputs rarely end, so that all searches take about the same number of steps.
"""

import tempfile
import time

import keras
import numpy as np

from t2t_keras.decoding.search import search
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.reproduction.gpu.accelerator import Row, memory_rows, on_jax, require_accelerator
from t2t_keras.reproduction.timing import median_seconds

SOURCE = 24  # tokens of each source
EXTRA = 8  # maximum number of tokens by which an output exceeds its source


def searches(size):
    """Yields milliseconds a batch, greedy and with a beam of 4."""
    for beam, rows, call in calls(size):
        first, (seconds,) = timed(call), median_seconds([call], 5, warm_up=1)
        name = f"{'greedy' if beam == 1 else f'beam {beam}'}, {rows} × {SOURCE} tokens"
        yield Row(name, 1e3 * seconds, "ms")
        yield Row(f"{name}: first call", first, "s")
    yield from memory_rows()


def first_call(size):
    """Yields the seconds until the first translation, which compiles or reads a stored program."""
    require_accelerator()
    _, _, call = next(calls(size))
    yield Row("first translation", timed(call), "s")


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def calls(size):
    """Yields (beam, rows, function that searches)."""
    keras.utils.set_random_seed(1)
    model = size.experiment("base").new_model(dtype="float32")
    random = np.random.default_rng(0)
    for beam in (1, 4):
        run = (jax_search if on_jax() else saved_search)(model, beam)
        for rows in size.search_rows:
            source = random.integers(4, model.config.vocab_size, (rows, SOURCE)).astype("int32")
            yield beam, rows, lambda source=source, run=run: run(source)


def jax_search(model, beam):
    """Returns the search as one compiled program."""
    import jax

    from t2t_keras.training.hardware.program_cache import prepare_jax

    prepare_jax()
    config = SearchConfig(beam=beam, extra_length=EXTRA)

    @jax.jit
    def found(values, source):
        with keras.StatelessScope(list(zip(model.variables, values, strict=True))):
            return search(model, source, SOURCE + EXTRA, config)

    values = [variable.value for variable in model.variables]
    return lambda source: jax.block_until_ready(found(values, source))


def saved_search(model, beam):
    """Returns the search of a SavedModel that takes ids, as `SavedModelEngine` calls it."""
    import tensorflow as tf

    from t2t_keras.export.id_signatures import id_signatures
    from t2t_keras.export.saved_model import write
    from t2t_keras.export.signature_names import Ids
    from t2t_keras.training.hardware.devices import choose_xla

    config = SearchConfig(beam=beam, extra_length=EXTRA)
    with tempfile.TemporaryDirectory() as folder:
        signatures = id_signatures(model, config, lambda function: function)
        write(folder, {name: signatures[name] for name in (Ids.SEARCH, Ids.SMALL)})
        loaded = tf.saved_model.load(folder)

    def call(source):
        name = Ids.SMALL if len(source) == 1 and choose_xla("auto") else Ids.SEARCH
        return loaded.signatures[name](source=source)["tokens"].numpy()

    return call
