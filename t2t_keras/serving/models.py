"""A SavedModel in memory: its signatures as functions from arrays to arrays."""

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import saved_model_pb2

from t2t_keras.export.batchable import read_batchable
from t2t_keras.export.loading import load
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.tensors import Spec

WARM_UP_TEXT = b"A b."


class Signature(NamedTuple):
    """One function of a model."""

    name: str
    inputs: dict  # input name to `Spec`
    outputs: dict  # output name to `Spec`
    batchable: bool  # whether rows of different requests may share a batch
    call: Any  # takes tensors by name and returns tensors by name

    @property
    def answer_grows(self):
        """Whether the size of a row's answer is unknown and may grow with the text."""
        return any(None in spec.shape[1:] for spec in self.outputs.values())

    @property
    def takes_text(self):
        return any(spec.dtype == "string" for spec in self.inputs.values())

    def values(self, width):
        """Returns how many values the answer for a row may have.

        An axis of unknown size is as long as the row at most: a text has no more tokens than
        bytes, not counting a token for its beginning or end.
        """
        width = int(width)
        return sum(
            math.prod(width + 2 if size is None else size for size in spec.shape[1:])
            for spec in self.outputs.values()
        )

    def run(self, inputs):
        """Computes a batch: arrays by name to arrays by name."""
        tensors = {
            name: tf.constant(inputs[name], getattr(tf, spec.dtype))
            for name, spec in self.inputs.items()
        }
        try:
            return {name: tensor.numpy() for name, tensor in self.call(**tensors).items()}
        except tf.errors.InvalidArgumentError as error:
            # A failed assertion in the model is the client's mistake; other errors are ours.
            if asserted := re.search(r"assertion failed: \[([^]]*)\]", error.message):
                reason = f": {asserted[1]}" if asserted[1] else ""
                raise Refusal(400, f"The model rejects this input{reason}") from None
            raise


class Model:
    """A loaded SavedModel.

    Args:
        folder: its folder.
    """

    def __init__(self, folder):
        self.loaded = load(folder)
        self.metadata = metadata_of(Path(folder))  # now: the folder may be removed or replaced
        batchable = read_batchable(folder)
        self.signatures = {
            name: signature_of(name, function, name in batchable)
            for name, function in self.loaded.signatures.items()
        }

    def warm_up(self):
        """Calls each signature once: the first call is slow and shows whether it works."""
        for signature in self.signatures.values():
            signature.run({name: one_row(spec) for name, spec in signature.inputs.items()})


def metadata_of(folder):
    """Returns the signatures of a SavedModel in the form of TensorFlow Serving's metadata."""
    file = folder / "saved_model.pb"
    graph = saved_model_pb2.SavedModel.FromString(file.read_bytes()).meta_graphs[0]
    return {
        name: {
            "inputs": {key: tensor_info(tensor) for key, tensor in signature.inputs.items()},
            "outputs": {key: tensor_info(tensor) for key, tensor in signature.outputs.items()},
            "method_name": signature.method_name,
            "defaults": {},
        }
        for name, signature in graph.signature_def.items()
    }


def signature_of(name, function, batchable):
    _, inputs = function.structured_input_signature
    inputs, outputs = (
        {key: Spec(spec.dtype.name, shape_of(spec)) for key, spec in sorted(specs.items())}
        for specs in (inputs, function.structured_outputs)
    )
    for key, spec in {**inputs, **outputs}.items():
        if spec.shape is None or spec.shape[:1] != (None,):
            raise ValueError(
                f"Signature {name!r} cannot be served: the first axis of its tensor {key!r} must "
                f"be of unknown size, a row for each text. Received: shape {spec.shape}"
            )
    return Signature(name, inputs, outputs, batchable, function)


def shape_of(spec):
    return None if spec.shape.rank is None else tuple(spec.shape)


def one_row(spec):
    shape = [size or 1 for size in spec.shape]
    if spec.dtype == "string":
        return np.full(shape, WARM_UP_TEXT, object)
    return np.ones(shape, spec.dtype)


def tensor_info(tensor):
    """Returns a `TensorInfo` as a dict for JSON."""
    dimensions = [{"size": str(axis.size), "name": axis.name} for axis in tensor.tensor_shape.dim]
    return {
        "dtype": types_pb2.DataType.Name(tensor.dtype),
        "tensor_shape": {
            "dim": dimensions,
            "unknown_rank": tensor.tensor_shape.unknown_rank,
        },
        "name": tensor.name,
    }
