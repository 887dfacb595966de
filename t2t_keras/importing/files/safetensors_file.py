"""Files in the safetensors format, which contain tensors and nothing else.

A file consists of eight bytes with the length of the header, the header in JSON, and the data of
the tensors, all little-endian.
"""

import functools
import json
import math
import struct

import numpy as np

from t2t_keras.importing.tensors import Tensor

TYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
ITEM_SIZES = {"float32": 4, "float16": 2, "bfloat16": 2}
LONGEST_HEADER = 10**8  # bytes; the limit in the format's own library
MOST_AXES = 8


def read_safetensors(path):
    """Returns {name: `Tensor`} of a file, after checking its whole header.

    Raises:
        ValueError: the file is damaged, or has a tensor that is not floating-point.
    """
    size = path.stat().st_size
    with open(path, "rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length > min(size - 8, LONGEST_HEADER):
            raise damaged(path, f"its header has {length:,} bytes, and the file {size:,}")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise damaged(path, f"its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise damaged(path, "its header is not a JSON object")
    header.pop("__metadata__", None)
    first = 8 + length  # offsets in the header count from here
    tensors = {}
    for name, entry in header.items():
        begin, dtype, shape = place(path, name, entry, size - first)
        compute = functools.partial(read_array, path, dtype, shape, first + begin)
        tensors[name] = Tensor(shape, compute)
    return tensors


def damaged(path, reason):
    return ValueError(f"{path} is not a whole safetensors file: {reason}. Download it again")


def place(path, name, entry, size):
    """Returns (begin, dtype, shape) of a tensor from its entry in the header."""
    try:
        dtype, shape = str(entry["dtype"]), entry["shape"]
        begin, end = entry["data_offsets"]
        whole = len(shape) <= MOST_AXES and are_sizes([*shape, begin, end])
    except (TypeError, KeyError, ValueError) as error:
        raise damaged(path, f"the entry of {name} is malformed") from error
    if not whole:
        raise damaged(path, f"the shape or the offsets of {name} are not sizes")
    if dtype not in TYPES:
        raise ValueError(
            f"{path}: {name} has the type {dtype:.40}. Tensors of {', '.join(TYPES)} can be "
            "imported. Save the model again in float32"
        )
    dtype = TYPES[dtype]
    if not begin <= end <= size:
        raise damaged(path, f"{name} is at {begin:,} to {end:,} of {size:,} bytes")
    if math.prod(shape) * ITEM_SIZES[dtype] != end - begin:
        raise damaged(path, f"{name} has {end - begin:,} bytes and the shape {shape} in {dtype}")
    return begin, dtype, tuple(shape)


def are_sizes(numbers):
    """Returns whether all numbers are integers that are valid as sizes and offsets."""
    return all(type(number) is int and 0 <= number < 2**63 for number in numbers)


def read_array(path, dtype, shape, offset):
    """Returns a little-endian array in a file. bfloat16 becomes float32."""
    stored = "<u2" if dtype == "bfloat16" else np.dtype(dtype).newbyteorder("<")
    array = np.fromfile(path, stored, math.prod(shape), offset=offset)
    return (widened(array) if dtype == "bfloat16" else array).reshape(shape)


def floats(contents, dtype):
    """Returns the numbers in little-endian bytes as an array. bfloat16 becomes float32."""
    if dtype == "bfloat16":
        return widened(np.frombuffer(contents, "<u2"))
    return np.frombuffer(contents, np.dtype(dtype).newbyteorder("<"))


def widened(halves):
    """Converts bfloat16, given as uint16, to float32 by appending 16 zero bits."""
    numbers = halves.astype("uint32")
    numbers <<= 16
    return numbers.view("float32")
