"""A SavedModel in memory: its signatures, as arrays in and arrays out."""

import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import saved_model_pb2

from t2t_keras.export.loading import load
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.tensors import Spec

WARM_UP = b"A b."


class Signature(NamedTuple):
    """One of the functions that a model offers."""

    name: str
    inputs: dict  # a Spec for each name
    outputs: dict
    call: Any  # arrays by name to tensors by name

    @property
    def alone(self):
        """Whether the shape of an answer depends on what is computed beside it."""
        return any(None in spec.shape[1:] for spec in self.outputs.values())

    def run(self, inputs):
        """Arrays by name to arrays by name."""
        tensors = {
            name: tf.constant(inputs[name], getattr(tf, spec.dtype))
            for name, spec in self.inputs.items()
        }
        try:
            return {name: tensor.numpy() for name, tensor in self.call(**tensors).items()}
        except tf.errors.InvalidArgumentError as error:
            # What the model itself asserts of its input is for the client; all else is a fault.
            if asserted := re.search(r"assertion failed: \[([^]]*)\]", error.message):
                words = f": {asserted[1]}" if asserted[1] else ""
                raise Refusal(400, f"The model does not take this input{words}") from None
            raise


class Model:
    """A SavedModel, loaded.

    Args:
        folder: where it lies.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.loaded = load(folder)
        self.signatures = {
            name: signature_of(name, function) for name, function in self.loaded.signatures.items()
        }

    def warm_up(self):
        """Calls every signature once: the first call is slow, and shows whether it works."""
        for signature in self.signatures.values():
            signature.run({name: one_row(spec) for name, spec in signature.inputs.items()})

    @functools.cached_property
    def metadata(self):
        """The signatures as TensorFlow Serving describes them."""
        file = self.folder / "saved_model.pb"
        graph = saved_model_pb2.SavedModel.FromString(file.read_bytes()).meta_graphs[0]
        return {
            name: {
                "inputs": {key: described(tensor) for key, tensor in each.inputs.items()},
                "outputs": {key: described(tensor) for key, tensor in each.outputs.items()},
                "method_name": each.method_name,
                "defaults": {},
            }
            for name, each in graph.signature_def.items()
        }


def signature_of(name, function):
    _, inputs = function.structured_input_signature
    inputs, outputs = (
        {key: Spec(spec.dtype.name, shape_of(spec)) for key, spec in sorted(specs.items())}
        for specs in (inputs, function.structured_outputs)
    )
    for key, spec in {**inputs, **outputs}.items():
        if spec.shape is None or spec.shape[:1] != (None,):
            raise ValueError(
                f"Signature {name!r} can not be served: its tensor {key!r} does not have a row for "
                f"each sentence, but the shape {spec.shape}"
            )
    return Signature(name, inputs, outputs, function)


def shape_of(spec):
    return None if spec.shape.rank is None else tuple(spec.shape)


def one_row(spec):
    shape = [size or 1 for size in spec.shape]
    if spec.dtype == "string":
        return np.full(shape, WARM_UP, object)
    return np.ones(shape, spec.dtype)


def described(tensor):
    """A tensor's `TensorInfo` as JSON writes it."""
    dimensions = [{"size": str(axis.size), "name": axis.name} for axis in tensor.tensor_shape.dim]
    return {
        "dtype": types_pb2.DataType.Name(tensor.dtype),
        "tensor_shape": {
            "dim": dimensions,
            "unknown_rank": tensor.tensor_shape.unknown_rank,
        },
        "name": tensor.name,
    }
