"""Files in the safetensors format, which contain tensors and nothing else.

A file consists of eight bytes with the length of the header, the header in JSON, and the data of
the tensors, all little-endian.
"""

import functools
import json
import math

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
        length = int.from_bytes(file.read(8), "little")
        if length > min(size - 8, LONGEST_HEADER):
            raise damaged(path, f"its header has {length:,} bytes, and the file {size:,}")
        try:
            header = dict(json.loads(file.read(length)))
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged(path, f"its header is not a JSON object ({error})") from error
    header.pop("__metadata__", None)
    first = 8 + length  # offsets in the header count from here
    return {name: tensor_at(path, first, size, name, entry) for name, entry in header.items()}


def damaged(path, reason):
    return ValueError(f"{path} is not a whole safetensors file: {reason}. Download it again")


def tensor_at(path, first, size, name, entry):
    """Returns the `Tensor` of an entry in the header."""
    try:
        kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        whole = len(shape) <= MOST_AXES and are_sizes([*shape, begin, end])
    except (TypeError, KeyError, ValueError) as error:
        raise damaged(path, f"the entry of {name} is malformed") from error
    if kind not in TYPES:
        raise ValueError(
            f"{path}: {name} has the type {kind!s:.40}. Tensors of {', '.join(TYPES)} can be "
            "imported. Save the model again in float32"
        )
    dtype = TYPES[kind]
    if not whole or first + end > size or math.prod(shape) * ITEM_SIZES[dtype] != end - begin:
        raise damaged(path, f"{name} has the shape {shape!s:.80} in {dtype} and other bytes")
    compute = functools.partial(read_array, path, dtype, tuple(shape), first + begin)
    return Tensor(shape, compute)


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
