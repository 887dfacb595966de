"""The signatures of a model: functions that take and return arrays. Does not import TensorFlow."""

import math
from typing import Any, NamedTuple

import numpy as np

from t2t_keras.serving.tensors import filled

WARM_UP_TEXT = b"A b."
# {dtype: its name in TensorFlow Serving's metadata}
TYPES = {
    "string": "DT_STRING",
    "float32": "DT_FLOAT",
    "int32": "DT_INT32",
    "bool": "DT_BOOL",
}


class ServedSignature(NamedTuple):
    """A function of a model."""

    name: str
    inputs: dict  # {input: `Spec`}
    outputs: dict  # {output: `Spec`}
    batchable: bool  # whether rows of different requests may share a batch
    run: Any  # function that computes a batch: takes {input: array}, returns {output: array}

    @property
    def answer_grows(self):
        """Whether the size of the answer for a row may grow with its text."""
        return any(None in spec.shape[1:] for spec in self.outputs.values())

    @property
    def takes_text(self):
        return any(spec.dtype == "string" for spec in self.inputs.values())

    def compute(self, requests):
        """Computes the rows of several requests as one batch; returns the outputs of each.

        Args:
            requests: list with {input: array} of each request.
        """
        ends = np.cumsum([len(next(iter(inputs.values()))) for inputs in requests])[:-1]
        names = self.inputs if len(requests) > 1 else requests[0]
        outputs = self.run({n: np.concatenate([inputs[n] for inputs in requests]) for n in names})
        parts = {name: np.split(array, ends) for name, array in outputs.items()}
        return [{name: parts[name][i] for name in parts} for i in range(len(requests))]

    def values(self, width):
        """Returns the maximum number of values in the answer for a row.

        A text has at most as many tokens as bytes, plus the begin and end tokens. So `width` + 2
        is the maximum size of an axis of unknown size.
        """
        width = int(width)
        return sum(
            math.prod(width + 2 if size is None else size for size in spec.shape[1:])
            for spec in self.outputs.values()
        )


def warm_up(signatures):
    """Calls each signature once, because the first call is slow and may fail."""
    for signature in signatures.values():
        signature.run({name: one_row(spec) for name, spec in signature.inputs.items()})


def one_row(spec):
    if spec.default is not None:
        return filled(spec, 1)
    shape = [size or 1 for size in spec.shape]
    if spec.dtype == "string":
        return np.full(shape, WARM_UP_TEXT, object)
    return np.ones(shape, spec.dtype)


def tensor_info(name, spec):
    """Describes a tensor in TensorFlow Serving's metadata format."""
    axes = [{"size": str(-1 if size is None else size), "name": ""} for size in spec.shape]
    shape = {"dim": axes, "unknown_rank": False}
    return {"dtype": TYPES[spec.dtype], "tensor_shape": shape, "name": name}


def metadata_of(signature):
    """Describes a signature in TensorFlow Serving's metadata format."""
    inputs, outputs = (
        {name: tensor_info(name, spec) for name, spec in specs.items()}
        for specs in (signature.inputs, signature.outputs)
    )
    method = "tensorflow/serving/predict"
    specs = signature.inputs.items()
    defaults = {name: spec.default for name, spec in specs if spec.default is not None}
    return {"inputs": inputs, "outputs": outputs, "method_name": method, "defaults": defaults}
