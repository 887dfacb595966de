"""Checkpoints of TensorFlow: {name: tensor}. They contain no code."""

import contextlib
import functools
import re

from t2t_keras.export.loading import plain_path
from t2t_keras.importing.files.whole_file import reading
from t2t_keras.importing.tensors import Tensor

# Checkpoints of TensorFlow 2 are graphs of objects. Names of their tensors have this end.
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
# Descriptions of objects, and the optimizer's moments.
OBJECTS = re.compile(r"^_CHECKPOINTABLE_|/\.OPTIMIZER_SLOT/|/\.ATTRIBUTES/(?!VARIABLE_VALUE$)")


def checkpoint_prefix(folder, pattern):
    """Returns the path of the folder's checkpoint without `.index`.

    If several index files match the pattern, the file `checkpoint` names the one to use.
    """
    found = {path.name.removesuffix(".index") for path in folder.glob(pattern)}
    if len(found) > 1 and (folder / "checkpoint").exists():
        text = (folder / "checkpoint").read_text("utf-8", "replace")
        latest = re.search(r'^model_checkpoint_path: ".*?([^/"]*)"', text, re.MULTILINE)
        found = found & {latest[1]} if latest else found
    if len(found) != 1:
        names = ", ".join(sorted(path.name for path in folder.glob(pattern)))
        raise ValueError(
            f"{folder} must have one checkpoint, or a file `checkpoint` that names one of them. "
            f"It has: {names or 'none'}"
        )
    return folder / found.pop()


def read_checkpoint(prefix):
    """Returns {name: `Tensor`} of a checkpoint of TensorFlow 1 or 2, see `checkpoint_prefix`.

    In checkpoints of TensorFlow 2, names are paths of objects, such as model/encoder/layer_norm.
    """
    import tensorflow as tf

    @contextlib.contextmanager
    def opened():
        kind = "checkpoint of TensorFlow, with its .data files"
        with reading(f"{prefix}.index", kind), plain_path(prefix.parent) as folder:
            yield tf.train.load_checkpoint(f"{folder}/{prefix.name}")

    def read(name):
        with opened() as reader:
            return reader.get_tensor(name)

    with opened() as reader:
        shapes = reader.get_variable_to_shape_map()
    return {
        name.removesuffix(VALUE): Tensor(shape, functools.partial(read, name))
        for name, shape in shapes.items()
        if not OBJECTS.search(name)
    }
