"""Checkpoints of TensorFlow: tensors by name. They hold no code."""

import functools
import math

from t2t_keras.importing.tensors import Tensor

OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"  # in checkpoints of TensorFlow 2


def read_checkpoint(prefix):
    """Returns {name: `Tensor`} of a checkpoint of TensorFlow 1.

    Args:
        prefix: path of the checkpoint, without `.index`.
    """
    import tensorflow as tf

    failures = (tf.errors.OpError, RuntimeError, ValueError)

    def damaged(error):
        return ValueError(
            f"{prefix}.index, with its .data files, is no whole checkpoint of TensorFlow: {error}"
        )

    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        dtypes = reader.get_variable_to_dtype_map()
    except failures as error:
        raise damaged(error) from error
    if OBJECTS in shapes:
        raise ValueError(
            f"{prefix} is a checkpoint of TensorFlow 2. Those of tensor2tensor are of TensorFlow 1"
        )
    files = prefix.parent.glob(f"{prefix.name}.data-*")
    available = sum(path.stat().st_size for path in files)

    def read(name):
        try:
            return reader.get_tensor(name)
        except failures as error:
            raise damaged(error) from error

    tensors = {}
    for name, shape in shapes.items():
        size = math.prod(shape) * dtypes[name].size
        if size > available:
            raise damaged(f"{name} needs {size:,} bytes, and the .data files have {available:,}")
        tensors[name] = Tensor(shape, functools.partial(read, name))
    return tensors
