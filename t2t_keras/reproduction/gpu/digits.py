"""Differences between logits and gradients of the base model on a GPU and on a CPU."""

import keras
import numpy as np

from t2t_keras.reproduction.gpu.accelerator import Row, accelerators, on_jax


@keras.saving.register_keras_serializable("t2t_keras.gpu")
class KeepGradients(keras.optimizers.Optimizer):
    """Replaces each weight by its gradient, as the training step computed it."""

    def __init__(self):
        super().__init__(learning_rate=1.0)

    def update_step(self, gradient, variable, learning_rate):
        self.assign(variable, gradient)


def digits(size):
    """Yields relative errors: of logits in their standard deviation, of gradients in their norm."""
    experiment = size.experiment("base")
    experiment.model.dropout = 0.0
    inputs, labels = padded_batch(experiment.model.vocab_size, size.digit_rows, size.length)
    keras.utils.set_random_seed(1)
    weights = experiment.new_model(dtype="float32").get_weights()

    def results(precision, tf32=False):
        model = experiment.new_model(dtype=precision)
        model.compile(KeepGradients(), experiment.loss())
        model.set_weights(weights)
        with rounding(tf32):
            logits = np.asarray(model.predict_on_batch(inputs), "float64")
            model.train_on_batch(inputs, labels)
        return logits, [np.asarray(array, "float64") for array in model.get_weights()]

    reference = "float32" if on_jax() else "float64"  # Keras' operations on JAX have no float64
    yield Row("reference", f"{reference} on a CPU")
    with keras.device("cpu:0"):
        exact_logits, exact_gradients = results(reference)
    real, scale = inputs["target"] != 0, np.std(exact_logits)
    kinds = [("float32", False), ("float32", True), ("mixed_bfloat16", False)]
    for precision, tf32 in kinds:
        if tf32 and not accelerators():
            continue  # CPUs have no TF32
        logits, gradients = results(precision, tf32)
        error = np.max(np.abs(logits - exact_logits)[real]) / scale
        name = f"{precision}{', products in TF32' if tf32 else ''}"
        yield Row(f"{name}: largest error of a logit", error, "standard deviations")
        pairs = zip(gradients, exact_gradients, strict=True)
        worst = max(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30) for a, b in pairs)
        yield Row(f"{name}: largest error of a weight's gradient", worst, "of its norm")


def padded_batch(vocabulary, rows, length):
    """Returns a batch of random ids. Row i has i tokens less than `length`; the last has none."""
    random = np.random.default_rng(0)
    source, labels = random.integers(4, vocabulary, (2, rows, length)).astype("int32")
    for row in range(rows):
        end = 0 if row == rows - 1 else max(1, length - row)
        source[row, end:] = labels[row, end:] = 0
    target = np.insert(labels[:, :-1], 0, 1, axis=1) * (labels != 0)
    return {"source": source, "target": target}, labels


def rounding(tf32):
    """Returns a context in which float32 products may be rounded to TF32, or not."""
    if on_jax():
        import jax

        return jax.default_matmul_precision("tensorfloat32" if tf32 else "float32")
    from t2t_keras.training.hardware.devices import tf32 as allowed

    return allowed(tf32)
