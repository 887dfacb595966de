"""Tokens per second and memory of `fit`, with the paper's batches in mixed_bfloat16 (§5.1)."""

import itertools
import statistics
import time

import keras
import numpy as np

from pipelines.batches.assembly import batches
from pipelines.batches.batch_plan import BatchPlan
from pipelines.batches.id_store import IdStore, Shard
from t2t_keras.layers.attention import MultiHeadAttention
from t2t_keras.parameters import parameter_counts, training_operations
from t2t_keras.reproduction.gpu.accelerator import Row, memory_rows, on_jax, peak, product_rate


def base(size):
    """Yields the speed of the base model; 100,000 steps are its training."""
    yield from in_half_precision(size, "base", 100_000)


def big(size):
    """Yields the speed of the big model; 300,000 steps are its training."""
    yield from in_half_precision(size, "big", 300_000)


def in_half_precision(size, name, paper_steps):
    experiment = size.experiment(name)
    experiment.training.precision = "mixed_bfloat16"
    store, plan = equal_lengths(experiment, size)
    batch, model = next(batches(store, plan)), experiment.compiled_model()
    seconds = yield from speed(experiment, model, batch, size)
    yield Row(f"the paper's {paper_steps:,} steps", paper_steps * seconds / 3600, "hours")
    _, seconds = fit(model, from_store(store, plan), size)
    yield Row("step with the input pipeline", 1e3 * seconds, "ms")
    if on_jax():
        name, MultiHeadAttention.fused = "step with fused attention", True  # the process ends here
    else:
        name, experiment.training.accumulate = "step in two parts", 2
    _, seconds = fit(experiment.compiled_model(), repeated(batch), size)
    yield Row(name, 1e3 * seconds, "ms")


def speed(experiment, model, batch, size):
    """Yields time, memory and operations of a step, and returns its seconds."""
    rows, length = batch[1].shape
    first, seconds = fit(model, repeated(batch), size)
    yield Row("batch", f"{rows} pairs of {length} + {length} tokens")
    yield Row("step", 1e3 * seconds, "ms")
    yield Row("source and target tokens", 2 * rows * length / seconds, "per second")
    yield Row("compiling, and first steps", first - size.steps * seconds, "s")
    yield from memory_rows()
    exact = training_operations(experiment.model, rows, length)
    rough = 6 * sum(parameter_counts(experiment.model).values()) * rows * length
    product = product_rate(size.product, model.compute_dtype)
    for kind, operations in (("matrix products", exact), ("6 · weights · pairs of tokens", rough)):
        rate = operations / seconds
        yield Row(kind, rate / 1e12, "TFLOP/s")
        if (limit := peak()) and model.compute_dtype == "bfloat16":
            yield Row(f"{kind}, share of the published peak", 100 * rate / limit, "%")
        yield Row(f"{kind}, share of a {size.product}³ product", 100 * rate / product, "%")
    return seconds


def equal_lengths(experiment, size):
    """Returns a store of random pairs without padding, and a plan of their batches."""
    length, settings = size.length, experiment.data.batches
    settings.tokens, settings.max_length, settings.row_multiple = size.tokens, length, 1
    pairs = size.tokens // length * size.steps
    random = np.random.default_rng(0)
    ids = random.integers(4, experiment.model.vocab_size, 2 * pairs * (length - 1), dtype="int32")
    store = IdStore([Shard.of_lengths(ids, *[[length - 1] * pairs] * 2)])  # an end token is added
    return store, BatchPlan(store.lengths + 1, settings, seed=1)


def repeated(batch):
    """Returns an endless series of one batch, which `fit` takes without a pipeline."""
    if on_jax():
        return (batch for _ in itertools.count())
    import tensorflow as tf

    return tf.data.Dataset.from_tensors(batch).repeat()


def from_store(store, plan):
    """Returns shuffled batches as in training."""
    if on_jax():
        return batches(store, plan)
    from pipelines.batches.dataset import dataset

    return dataset(store, plan)


def fit(model, data, size):
    """Trains. Returns the seconds of the first epoch, and of a step in later ones (median)."""
    times = []

    def note(*_):
        times.append(time.perf_counter())

    clock = keras.callbacks.LambdaCallback(on_train_begin=note, on_epoch_end=note)
    options = {"epochs": 1 + size.rounds, "steps_per_epoch": size.steps}
    model.fit(data, callbacks=[clock], verbose=0, shuffle=False, **options)
    first, *later = (end - start for start, end in itertools.pairwise(times))
    return first, statistics.median(later) / size.steps
