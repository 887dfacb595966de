"""The functions of a model, from arrays to arrays. This file does not load TensorFlow."""

import math
from typing import Any, NamedTuple

import numpy as np

from t2t_keras.serving.tensors import Spec, filled

TRANSLATED = ("translations", "scores")
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
    def translates(self):
        """Whether it translates texts, so that their sentences may be translated one by one."""
        outputs = {name: len(spec.shape) for name, spec in self.outputs.items()}
        takes_text = self.inputs.get("text") == Spec("string", (None,))
        return takes_text and outputs in [dict.fromkeys(TRANSLATED, rank) for rank in (1, 2)]

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
