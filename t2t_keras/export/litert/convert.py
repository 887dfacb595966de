"""Writes flatbuffers for LiteRT, a small runtime that does not need TensorFlow."""

import re
import tempfile

import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError
from tensorflow.lite.tools.flatbuffer_utils import convert_bytearray_to_object

from pipelines.exit_codes import NOT_CONVERTIBLE
from t2t_keras.export.formats import LITERT_MODEL, PORTABLE_MODEL
from t2t_keras.export.litert.flatbuffers import joined
from t2t_keras.export.litert.programs import layout_of, portable_program, programs_of
from t2t_keras.export.loading import save
from t2t_keras.layers.keras_interface.adapted_layers import refuse_quantized
from t2t_keras.quiet_loading import quiet_loading


class NotConvertible(ValueError):
    """LiteRT lacks an operation of a model."""

    exit_code = NOT_CONVERTIBLE


def save_litert(folder, model, beam, dtype="float32"):
    """Writes the flatbuffer of a `SequenceModel` in float32; returns its layout, see `layout_of`.

    It has programs for greedy search and for the beam width. The weights are stored in `dtype`, one
    of `LITERT_DTYPES`. If LiteRT cannot compute the model, raises `NotConvertible`.
    """
    write(folder / LITERT_MODEL, model, programs_of(model, beam), dtype)
    return layout_of(model, beam)


def save_portable(folder, model, config, dtype="float32"):
    """Writes a flatbuffer with a whole search to a folder, for phones and other languages.

    Its signature "translate" takes `source`, ids `[sentences, length]` with the end id (2) and
    padding (0), and returns `tokens` `[sentences, n_best, length]` and `scores`
    `[sentences, n_best]`, best first. For model and `dtype`, see `save_litert`.
    """
    write(folder / PORTABLE_MODEL, model, {"translate": portable_program(model, config)}, dtype)


def write(path, model, programs, dtype):
    refuse_quantized(model, "An export for LiteRT")
    try:
        data = flatbuffer_of(programs, [weight.value for weight in model.weights], dtype)
    except ConverterError as error:
        missing = re.search("TF Select ops: (.*)", str(error))
        reason = f"LiteRT has no {missing[1]}" if missing else str(error).splitlines()[0][:200]
        name = type(model).__name__
        raise NotConvertible(f"this {name} cannot be exported for LiteRT: {reason}") from error
    path.write_bytes(data)


def flatbuffer_of(programs, variables, dtype="float32"):
    """Returns a flatbuffer with a signature for each program. It contains each variable once."""
    return joined([converted(name, programs[name], variables, dtype) for name in programs])


def converted(name, program, variables, dtype):
    """Returns the model of a flatbuffer with a single program.

    A SavedModel with several programs would fail in LiteRT unless the weights were converted to
    constants first, and then the converter would need five times the memory.
    """
    module = tf.Module()
    module.variables_used = variables
    inputs = {each: tf.TensorSpec.from_spec(spec, each) for each, spec in program.inputs.items()}
    function = tf.function(program.function, autograph=False)
    quiet = quiet_loading(explained=(ConverterError, OSError))
    with tempfile.TemporaryDirectory() as folder, quiet:
        signatures = {name: function.get_concrete_function(**inputs)}
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        save(module, folder, signatures, options)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=[name])
        if dtype == "int8":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        return convert_bytearray_to_object(converter.convert())
