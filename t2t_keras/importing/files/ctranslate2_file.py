"""The file `model.bin` of CTranslate2, versions 2 to 6."""

import functools
import math
import struct

import numpy as np

from t2t_keras.importing.files.safetensors_file import MOST_AXES, read_array, stored_type
from t2t_keras.importing.files.whole_file import reading
from t2t_keras.importing.tensors import Tensor

VERSIONS = range(2, 7)
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
OLD_TYPES = {4: "float32", 2: "int16", 1: "int8"}  # {item size: type} in versions 2 and 3
INT16_SCALE = 1000.0  # the default scale of int16 weights


class CTranslate2File:
    """The contents of a model.bin.

    Attributes:
        version: version of the file.
        spec, revision: name and revision of the model's format.
        tensors: {name: `Tensor`} of the weights. Quantized weights become float32.
        attributes: {name: value} of scalars and strings. Older versions store strings as arrays.
        types: types of the stored weights.
    """

    def __init__(self, path):
        self.path, self.size = path, path.stat().st_size
        self.tensors, self.attributes, self.types = {}, {}, set()
        values = {}  # aliases have the same variable, and get the same object
        with reading(path, "model of CTranslate2"), open(path, "rb") as self.file:
            variables = self.read_header()
            for name, variable in variables.items():
                if name.endswith("_scale") and name.removesuffix("_scale") in variables:
                    continue
                if variable not in values:
                    scale = variables.get(f"{name}_scale")
                    values[variable] = self.value(name, variable, scale)
                is_tensor = isinstance(values[variable], Tensor)
                (self.tensors if is_tensor else self.attributes)[name] = values[variable]
        del self.file

    def read_header(self):
        """Returns {name or alias: (dtype, shape, offset)}."""
        self.version = self.number("I")
        if self.version not in VERSIONS:
            raise ValueError(f"it has version {self.version}, and only 2 to 6 can be imported")
        self.spec, self.revision = self.string(), self.number("I")
        variables = {}
        for _ in range(self.number("I")):
            name = self.string()
            shape = tuple(self.number("I") for _ in range(self.number("B")))
            kind, count = self.number("B"), self.number("I")
            if self.version >= 4:
                dtype, size = dict(enumerate(TYPES)).get(kind), count
            else:
                dtype, size = OLD_TYPES.get(kind), kind * count
            offset = self.file.tell()
            is_whole = dtype and len(shape) <= MOST_AXES and (len(shape) < 2 or 0 not in shape)
            if not is_whole or size != math.prod(shape) * stored_type(dtype).itemsize:
                raise ValueError(f"{name} has {size:,} bytes, type {kind} and shape {shape}")
            if offset + size > self.size or name in variables:
                raise ValueError(f"{name} ends after the file, or occurs twice")
            variables[name] = dtype, shape, offset
            self.file.seek(size, 1)
        for _ in range(self.number("I") if self.version >= 3 else 0):
            alias, name = self.string(), self.string()
            if name not in variables:
                raise ValueError(f"{alias} is another name of {name}, which it does not have")
            variables[alias] = variables[name]
        if self.file.tell() != self.size:
            raise ValueError(f"{self.size - self.file.tell():,} bytes are left after its end")
        return variables

    def number(self, form):
        return struct.unpack(f"<{form}", self.file.read(struct.calcsize(form)))[0]

    def string(self):
        contents = self.file.read(self.number("H"))
        if not contents.endswith(b"\0"):
            raise ValueError("it ends in the middle of a name")
        return contents[:-1].decode()

    def value(self, name, variable, scale):
        """Returns the `Tensor`, the string or the number of a variable."""
        dtype, shape, _ = variable
        if not shape:
            return read_array(self.path, *variable).item()
        if dtype == "int8" and len(shape) == 1:
            return read_array(self.path, *variable).tobytes().decode()
        if scale is not None and math.prod(scale[1]) not in (1, shape[0]):
            raise ValueError(f"{name} has the shape {shape}, and its scale {scale[1]}")
        self.types.add(dtype)
        return Tensor(shape, functools.partial(read_weights, self.path, variable, scale))


def read_weights(path, variable, scale):
    """Returns an array of floats. Integers are divided by the scale of their row."""
    array = read_array(path, *variable)
    if scale is None and variable[0] != "int16":
        return array
    factors = np.float32(INT16_SCALE)
    if scale is not None:
        factors = read_array(path, *scale).reshape(-1, *[1] * (array.ndim - 1))
    array = array.astype("float32")
    array /= factors
    return array
