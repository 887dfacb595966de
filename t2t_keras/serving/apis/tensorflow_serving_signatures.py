"""The signatures of TensorFlow Serving's interface, with their inputs and outputs.

The inputs of the signature with options are the fields of `Request`.
"""

import dataclasses
import typing
from typing import NamedTuple

from t2t_keras.export.signature_names import BEST, LISTS, OPTIONS
from t2t_keras.serving.model import has_one_tag
from t2t_keras.translating.request import Request

# {dtype: its name in metadata and the JSON schema of values}
DTYPES = {
    "string": ("DT_STRING", {"type": ["string", "object"]}),
    "float32": ("DT_FLOAT", {"type": "number"}),
    "int32": ("DT_INT32", {"type": "integer"}),
    "bool": ("DT_BOOL", {"type": "boolean"}),
}
DTYPE_OF = {int: "int32", float: "float32", bool: "bool"}  # {type of a field: dtype of its input}
FIELDS = {field.name: field for field in dataclasses.fields(Request)}
TEXTS = "text", "translation"
REQUIRED = "string", None  # dtype and default of a required input
# {signature about a text and its translation: (method of the engine, inputs)}
PAIRS = {
    "score": ("log_p", ("source", "target")),
    "score_pieces": ("log_p", TEXTS),
    "align": ("attention", TEXTS),
    "attention": ("all_attention", TEXTS),
}


class Signature(NamedTuple):
    inputs: dict  # {input: (dtype, default)}. The default None: all rows must have the input
    outputs: dict  # {output: (dtype, sizes of the axes after the rows)}
    width: int | None = None  # translations in a row of the answer. None: one, which is no list


def signatures_of(model):
    """Returns {name: `Signature`} of a `ServedModel`."""
    engine, text = model.engine, {"text": REQUIRED}
    options = text | {name: input_of(name, engine) for name in sorted(model.offers)}
    width = engine.config.beam
    words = dict.fromkeys(("alignments", "confidence", "words"), ("string", width))
    words["source_words"] = ("string",)
    found = {
        BEST: Signature(text, of_translations()),
        LISTS: Signature(text, of_translations(engine.most), engine.most),
        OPTIONS: Signature(options, of_translations(width) | words, width),
    }
    if not has_one_tag(model.translator):
        return found  # a pair of texts does not say its tag
    both = dict.fromkeys(("source_pieces", "target_pieces"), ("string", None))
    target = {"target_pieces": both["target_pieces"]}
    outputs = {
        "score": {"log_probabilities": ("float32",)},
        "score_pieces": {"log_probabilities": ("float32", None)} | target,
    }
    if engine.has_attention:
        outputs["align"] = both | {"weights": ("float32", None, None)}
    if sizes := engine.attention_sizes:
        heads = {kind: ("float32", *size, None, None) for kind, size in sizes.items()}
        outputs["attention"] = both | heads
    return found | {
        name: Signature(dict.fromkeys(PAIRS[name][1], REQUIRED), each)
        for name, each in outputs.items()
    }


def of_translations(*size):
    return {"scores": ("float32", *size), "translations": ("string", *size)}


def input_of(name, engine):
    """Returns dtype and default of the input for an option, a field of `Request`."""
    dtype, default = dtype_of(name), FIELDS[name].default
    if dtype == "string":
        default = ""
    elif name == "split":
        default = engine.split == "auto"
    elif default is None:
        default = getattr(engine.config, name)
    return dtype, default


def dtype_of(name):
    """Returns the dtype of the input for a field of `Request`."""
    kinds = FIELDS[name].type, *typing.get_args(FIELDS[name].type)
    dtype = next((DTYPE_OF[kind] for kind in kinds if kind in DTYPE_OF), "string")
    return "bool" if name == "split" else dtype


def metadata_of(signature):
    """Describes a signature in TensorFlow Serving's metadata format."""
    inputs = signature.inputs.items()
    return {
        "inputs": {name: tensor(name, dtype) for name, (dtype, _) in inputs},
        "outputs": {name: tensor(name, *each) for name, each in signature.outputs.items()},
        "method_name": "tensorflow/serving/predict",
        "defaults": {name: default for name, (_, default) in inputs if default is not None},
    }


def tensor(name, dtype, *sizes):
    axes = [{"size": str(-1 if size is None else size), "name": ""} for size in (None, *sizes)]
    shape = {"dim": axes, "unknown_rank": False}
    return {"dtype": DTYPES[dtype][0], "tensor_shape": shape, "name": name}
