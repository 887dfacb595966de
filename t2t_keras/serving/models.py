"""A SavedModel in memory, with its signatures as functions that take and return arrays."""

import functools
import re
from pathlib import Path

import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import saved_model_pb2

from t2t_keras.export.loading import load
from t2t_keras.export.signature_names import IDS_SEARCH, OPTIONS, is_served, read_batchable
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.signatures import ServedSignature, warm_up
from t2t_keras.serving.tensors import Spec
from t2t_keras.serving.translations import Translations
from t2t_keras.translating.engines.saved_model import SavedModelEngine


class ServedSavedModel:
    """A loaded SavedModel.

    Args:
        folder: folder of the SavedModel.

    Attributes:
        engine: the model's engine, or None if `translations` is None.
        translations: the `Translations`, or None if the SavedModel was not written by t2t-export,
            or by an earlier version of it. Then all signatures are called directly.
        signatures: {name: `ServedSignature`} for the signatures that `translations` lacks.
        metadata: {name: metadata in TensorFlow Serving's format} for all signatures.
    """

    def __init__(self, folder):
        self.loaded = load(folder)
        definitions = definitions_in(Path(folder))  # read now: the folder may be removed
        self.metadata = {name: metadata_of(each) for name, each in definitions.items()}
        self.translations = self.engine = None
        if IDS_SEARCH in self.loaded.signatures:
            engine = SavedModelEngine(folder, self.loaded.signatures)
            engine.name = "this model"  # hides the path from clients
            self.engine = engine
            self.translations = Translations(engine, engine.tag)
            self.metadata[OPTIONS] = self.translations.metadata[OPTIONS]
        batchable = read_batchable(folder)
        translating = self.translations.signatures if self.translations else {}
        self.signatures = {
            name: signature_of(name, function, name in batchable, definitions[name].defaults)
            for name, function in self.loaded.signatures.items()
            if name in definitions and name not in translating
        }

    def warm_up(self):
        warm_up(self.signatures)
        if self.translations:
            self.engine.warm_up()


def definitions_in(folder):
    """Returns {name: `SignatureDef`} for the served signatures of a SavedModel."""
    file = folder / "saved_model.pb"
    graph = saved_model_pb2.SavedModel.FromString(file.read_bytes()).meta_graphs[0]
    return {name: each for name, each in graph.signature_def.items() if is_served(name)}


def metadata_of(signature):
    """Converts a `SignatureDef` to TensorFlow Serving's metadata format."""
    return {
        "inputs": {key: tensor_info(tensor) for key, tensor in signature.inputs.items()},
        "outputs": {key: tensor_info(tensor) for key, tensor in signature.outputs.items()},
        "method_name": signature.method_name,
        "defaults": {key: json_value(value) for key, value in signature.defaults.items()},
    }


def json_value(tensor):
    """Returns the value of a tensor in a `SignatureDef`, or None if it has several."""
    values = tf.make_ndarray(tensor).ravel().tolist()
    if len(values) != 1:
        return None
    return values[0].decode("utf-8", "replace") if isinstance(values[0], bytes) else values[0]


def signature_of(name, function, batchable, defaults):
    """Returns the `ServedSignature` of a SavedModel's function.

    Args:
        name, batchable: see `ServedSignature`.
        function: function of the SavedModel.
        defaults: {input: `TensorProto`} for the inputs that a request may omit.
    """
    _, inputs = function.structured_input_signature
    inputs, outputs = (
        {key: Spec(spec.dtype.name, shape_of(spec)) for key, spec in sorted(specs.items())}
        for specs in (inputs, function.structured_outputs)
    )
    for key in defaults:
        if inputs[key].shape == (None,):
            inputs[key] = inputs[key]._replace(default=json_value(defaults[key]))
    for key, spec in {**inputs, **outputs}.items():
        if spec.shape is None or spec.shape[:1] != (None,):
            raise ValueError(
                f"Signature {name!r} cannot be served: the first axis of its tensor {key!r} must "
                f"be of unknown size, a row for each text. Received: shape {spec.shape}"
            )
    return ServedSignature(
        name, inputs, outputs, batchable, functools.partial(computed, function, inputs)
    )


def computed(function, specs, inputs):
    """Calls a function of a SavedModel with {input: array}; returns {output: array}."""
    tensors = {
        name: tf.constant(inputs[name], getattr(tf, spec.dtype)) for name, spec in specs.items()
    }
    try:
        return {name: tensor.numpy() for name, tensor in function(**tensors).items()}
    except tf.errors.InvalidArgumentError as error:
        # A failed assertion in the model is an error of the client; all others are server errors.
        if asserted := re.search(r"assertion failed: \[([^]]*)\]", error.message):
            reason = f": {asserted[1]}" if asserted[1] else ""
            raise Refusal(400, f"The model rejects this input{reason}") from None
        raise


def shape_of(spec):
    return None if spec.shape.rank is None else tuple(spec.shape)


def tensor_info(tensor):
    """Converts a `TensorInfo` to a dict for JSON."""
    dimensions = [{"size": str(axis.size), "name": axis.name} for axis in tensor.tensor_shape.dim]
    return {
        "dtype": types_pb2.DataType.Name(tensor.dtype),
        "tensor_shape": {
            "dim": dimensions,
            "unknown_rank": tensor.tensor_shape.unknown_rank,
        },
        "name": tensor.name,
    }
