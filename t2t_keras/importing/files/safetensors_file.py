"""Files in the safetensors format, which contain tensors and nothing else.

A file consists of eight bytes with the length of the header, the header in JSON, and the data of
the tensors, all little-endian.
"""

import functools
import json
import math

import numpy as np

from t2t_keras.importing.files.whole_file import are_sizes, reading
from t2t_keras.importing.tensors import Tensor

TYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
LONGEST_HEADER = 10**8  # bytes; the limit in the format's own library
MOST_AXES = 8


def read_safetensors(path):
    """Returns {name: `Tensor`} of a file, after checking its whole header.

    Raises:
        ValueError: the file is damaged, or has a tensor that is not floating-point.
    """
    tensors, size = {}, path.stat().st_size
    with reading(path, "safetensors file of floats"), open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(min(length, LONGEST_HEADER)))
        header.pop("__metadata__", None)
        for name, entry in header.items():
            dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            if dtype not in TYPES:
                raise ValueError(f"{name} has the type {dtype!s:.40}, and not {', '.join(TYPES)}")
            offset = 8 + length + begin
            dtype, whole = TYPES[dtype], are_sizes([*shape, begin, end]) and len(shape) <= MOST_AXES
            if (
                not whole
                or math.prod(shape) * stored_type(dtype).itemsize != end - begin
                or (offset + end - begin > size)
            ):
                raise ValueError(f"{name} has the shape {shape!s:.80} in {dtype} and other bytes")
            compute = functools.partial(read_array, path, dtype, tuple(shape), offset)
            tensors[name] = Tensor(shape, compute)
    return tensors


def stored_type(dtype):
    """Returns the little-endian NumPy type in which a file has the numbers of a type."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype).newbyteorder("<")


def read_array(path, dtype, shape, offset):
    """Returns an array in a file. bfloat16 becomes float32."""
    array = np.fromfile(path, stored_type(dtype), math.prod(shape), offset=offset)
    return floats(array, dtype).reshape(shape)


def floats(array, dtype):
    """Returns an array of `stored_type`, with bfloat16 as float32: followed by 16 zero bits."""
    if dtype != "bfloat16":
        return array
    numbers = array.astype("uint32")
    numbers <<= 16
    return numbers.view("float32")
