"""Training steps without graphs: tracing one takes longer than running it a few times."""

import contextlib

import keras


@contextlib.contextmanager
def without_graphs():
    """Makes TensorFlow run functions operation by operation. Has no effect on JAX."""
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)
