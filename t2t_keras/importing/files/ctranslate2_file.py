"""The file `model.bin` of CTranslate2, versions 1 to 6."""

import functools
import math
import struct

import numpy as np

from t2t_keras.importing.files.safetensors_file import ITEM_SIZES, MOST_AXES, read_array
from t2t_keras.importing.tensors import Tensor

VERSIONS = range(1, 7)
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
OLD_TYPES = {4: "float32", 2: "int16", 1: "int8"}  # {item size: type} in versions 1 to 3
INT16_SCALE = 1000.0  # the default scale of int16 weights


class CTranslate2File:
    """The contents of a model.bin.

    Args:
        path: path of the file.

    Attributes:
        version: version of the file.
        spec, revision: name and revision of the model's format.
        tensors: {name: `Tensor`} of the weights. Quantized weights become float32.
        attributes: {name: value} of scalars and strings. Older versions store strings as arrays.
        types: types of the stored weights.
        same: {name or alias: name of the stored variable}.
    """

    def __init__(self, path):
        self.path, self.size = path, path.stat().st_size
        with open(path, "rb") as file:
            self.file = file
            try:
                variables, aliases = self.read_header()
            except (struct.error, UnicodeDecodeError) as error:
                raise self.damaged("it ends in the middle of its header") from error
        del self.file
        self.same = {name: name for name in variables} | aliases
        self.tensors, self.attributes, self.types = {}, {}, set()
        for name, original in self.same.items():
            if original not in variables:
                raise self.damaged(f"{name} is another name of {original}, which it does not have")
            if original in self.attributes:  # read only once, even if it has aliases
                self.attributes[name] = self.attributes[original]
            else:
                self.add(name, variables[original], variables)

    def damaged(self, reason):
        return ValueError(f"{self.path} is not a whole model of CTranslate2: {reason}")

    def read_header(self):
        """Returns {name: (dtype, shape, offset)} and {alias: name}."""
        self.version = self.number("I")
        if self.version not in VERSIONS:
            raise ValueError(
                f"{self.path} has version {self.version} of CTranslate2's format, or is not "
                "such a file. Versions 1 to 6 can be imported"
            )
        self.spec, self.revision = "", 1
        if self.version >= 2:
            self.spec, self.revision = self.string(), self.number("I")
        variables = {}
        for _ in range(self.number("I")):
            name = self.string()
            shape = [self.number("I") for _ in range(self.number("B"))]
            kind, count = self.number("B"), self.number("I")
            if self.version >= 4:
                dtype = TYPES[kind] if kind < len(TYPES) else None
                size = count
            else:
                dtype, size = OLD_TYPES.get(kind), kind * count
            if dtype is None:
                raise self.damaged(f"{name} has the unknown type {kind}")
            if len(shape) > MOST_AXES or (len(shape) > 1 and 0 in shape):
                raise self.damaged(f"{name} has the shape {shape}")
            if size != math.prod(shape) * item_size(dtype):
                raise self.damaged(f"{name} has {size:,} bytes and the shape {shape}")
            offset = self.file.tell()
            if offset + size > self.size:
                raise self.damaged(f"{name} needs {size:,} bytes, more than the file has left")
            if name in variables:
                raise self.damaged(f"{name} occurs twice")
            variables[name] = dtype, tuple(shape), offset
            self.file.seek(size, 1)
        aliases = {}
        if self.version >= 3:
            for _ in range(self.number("I")):
                alias = self.string()
                aliases[alias] = self.string()
        if self.file.tell() != self.size:
            raise self.damaged(f"{self.size - self.file.tell():,} bytes are left after its end")
        # An alias of quantized weights is also an alias of their scale.
        for alias, name in list(aliases.items()):
            if f"{name}_scale" in variables:
                aliases.setdefault(f"{alias}_scale", f"{name}_scale")
        return variables, aliases

    def number(self, form):
        return struct.unpack(f"<{form}", self.file.read(struct.calcsize(form)))[0]

    def string(self):
        contents = self.file.read(self.number("H"))
        if not contents.endswith(b"\0"):
            raise self.damaged("it ends in the middle of a name")
        return contents[:-1].decode()

    def add(self, name, variable, variables):
        dtype, shape, _ = variable
        if name.endswith("_scale") and name.removesuffix("_scale") in self.same:
            return
        if not shape:
            self.attributes[name] = read_array(self.path, *variable).item()
        elif dtype == "int8" and len(shape) == 1:
            contents = read_array(self.path, *variable).tobytes()
            try:
                self.attributes[name] = contents.decode()
            except UnicodeDecodeError as error:
                raise self.damaged(f"{name} is not UTF-8 ({error})") from error
        else:
            scale = variables.get(f"{self.same[name]}_scale")
            if scale is not None and math.prod(scale[1]) not in (1, shape[0]):
                raise self.damaged(f"{name} has the shape {shape}, and its scale {scale[1]}")
            compute = functools.partial(read_weights, self.path, variable, scale)
            self.tensors[name] = Tensor(shape, compute)
            self.types.add(dtype)


def item_size(dtype):
    return ITEM_SIZES.get(dtype) or np.dtype(dtype).itemsize


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
