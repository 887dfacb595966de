"""Saves SavedModels, and loads them, also those that take text, after checking their operations."""

import contextlib
import importlib
import os
import re
import tempfile
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from t2t_keras.quiet_loading import quiet_loading

# Operations that access files, the network or Python. No export contains one.
FORBIDDEN = {
    *("ReadFile", "WriteFile", "MatchingFiles", "PyFunc", "PyFuncStateless", "EagerPyFunc"),
    *("Save", "SaveSlices", "ImportEvent", "CreateSummaryFileWriter", "RpcCall", "RpcClient"),
}


def save(module, folder, signatures, options=None):
    """Writes a SavedModel. A full disk raises `OSError`."""
    try:
        tf.saved_model.save(module, str(folder), signatures, options)
    except tf.errors.OpError as error:
        raise OSError(f"{folder} could not be written: {error.message}") from error


def load(folder):
    """Loads a SavedModel after `checked_graph`, and registers the text operations it may have."""
    checked_graph(folder)
    importlib.import_module("tensorflow_text")  # registers its operations when imported
    try:
        with plain_path(folder) as path, quiet_loading():
            return tf.saved_model.load(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, tf.errors.OpError) as error:
        raise damaged(folder, getattr(error, "message", error)) from error


def checked_graph(folder):
    """Returns the graph of a SavedModel, as `tf.saved_model.load` would choose it.

    Rejects a damaged file, and a graph with an operation that reaches beyond the model.
    """
    try:
        contents = (Path(folder) / "saved_model.pb").read_bytes()
        saved_model = saved_model_pb2.SavedModel.FromString(contents)
    except Exception as error:  # protobuf's own errors have no public base class in TensorFlow
        raise damaged(folder, error) from error
    if len(saved_model.meta_graphs) != 1:
        raise damaged(folder, f"it has {len(saved_model.meta_graphs)} graphs")
    (graph,) = saved_model.meta_graphs
    bodies = graph.graph_def.node, *(each.node_def for each in graph.graph_def.library.function)
    if forbidden := sorted({node.op for body in bodies for node in body} & FORBIDDEN):
        raise ValueError(
            f"{folder} is not loaded: its graph reaches beyond the model by the operation "
            f"{forbidden[0]}. Load only models that you trust"
        )
    return graph


def damaged(folder, error):
    return ValueError(
        f"{folder} is damaged ({error}). Delete it and export the run again with t2t-export"
    )


@contextlib.contextmanager
def plain_path(folder):
    """Yields a path under which TensorFlow can read a folder.

    This is a temporary link if the folder's path has a special character.
    """
    path = str(folder)
    if not re.search(r"[\[\\\udc80-\udcff]", path):
        yield path
        return
    with tempfile.TemporaryDirectory() as temporary:
        link = os.path.join(temporary, "link")
        os.symlink(os.path.abspath(path), link)
        yield link
