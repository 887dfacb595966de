"""Writes checkpoints of TensorFlow, which the importers read."""

import tensorflow as tf


def save_tensors(prefix, arrays):
    """Writes arrays by name as a checkpoint; `prefix` is its path without `.index`."""
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=[tf.constant(array) for array in arrays.values()],
    )
