"""The functions of a model, from arrays to arrays. This file does not load TensorFlow."""

import math
from typing import Any, NamedTuple

import numpy as np

from t2t_keras.serving.tensors import filled

WARM_UP_TEXT = b"A b."
TYPES = {
    "string": "DT_STRING",
    "float32": "DT_FLOAT",
    "int32": "DT_INT32",
    "bool": "DT_BOOL",
}


class Signature(NamedTuple):
    """One function of a model."""

    name: str
    inputs: dict  # input name to `Spec`
    outputs: dict  # output name to `Spec`
    batchable: bool  # whether rows of different requests may share a batch
    run: Any  # computes a batch: arrays by name to arrays by name

    @property
    def answer_grows(self):
        """Whether the size of a row's answer is unknown and may grow with the text."""
        return any(None in spec.shape[1:] for spec in self.outputs.values())

    @property
    def takes_text(self):
        return any(spec.dtype == "string" for spec in self.inputs.values())

    def compute(self, requests):
        """Computes the rows of several requests as one batch; returns the outputs of each.

        Args:
            requests: arrays by name, for each request.
        """
        ends = np.cumsum([len(next(iter(inputs.values()))) for inputs in requests])[:-1]
        names = self.inputs if len(requests) > 1 else requests[0]
        outputs = self.run({n: np.concatenate([inputs[n] for inputs in requests]) for n in names})
        parts = {name: np.split(array, ends) for name, array in outputs.items()}
        return [{name: parts[name][i] for name in parts} for i in range(len(requests))]

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


def warm_up(signatures):
    """Calls each signature once: the first call is slow and shows whether it works."""
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
    """Returns a tensor in the form of TensorFlow Serving's metadata."""
    axes = [{"size": str(-1 if size is None else size), "name": ""} for size in spec.shape]
    shape = {"dim": axes, "unknown_rank": False}
    return {"dtype": TYPES[spec.dtype], "tensor_shape": shape, "name": name}


def metadata_of(signature):
    """Returns a signature in the form of TensorFlow Serving's metadata."""
    inputs, outputs = (
        {name: tensor_info(name, spec) for name, spec in specs.items()}
        for specs in (signature.inputs, signature.outputs)
    )
    method = "tensorflow/serving/predict"
    specs = signature.inputs.items()
    defaults = {name: spec.default for name, spec in specs if spec.default is not None}
    return {"inputs": inputs, "outputs": outputs, "method_name": method, "defaults": defaults}
