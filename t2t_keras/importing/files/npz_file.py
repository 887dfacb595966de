"""Files of NumPy arrays (.npz), read array by array."""

import functools
import math
import struct
import tokenize
import zipfile
import zlib

import numpy as np

from t2t_keras.importing.files.safetensors_file import are_sizes
from t2t_keras.importing.tensors import Tensor

TYPES = ("f2", "f4", "f8", "i1", "u1")  # numbers and bytes
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# Exceptions of `zipfile` for a damaged file.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, OSError, RuntimeError, OverflowError),
)
# Exceptions of NumPy for a damaged header, which NumPy parses as a Python literal.
UNREADABLE_HEADER = (
    *(ValueError, KeyError, TypeError, OverflowError, SyntaxError),
    *(tokenize.TokenError, RecursionError, MemoryError),
)


def read_npz(path):
    """Returns {name: `Tensor`} of a file, after checking the header of each array."""
    tensors = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                compute = functools.partial(read_member, path, member.filename)
                shape = shape_of(path, archive, member)
                tensors[member.filename.removesuffix(".npy")] = Tensor(shape, compute)
    except UNREADABLE as error:
        raise damaged(path, error) from error
    return tensors


def damaged(path, reason):
    return ValueError(f"{path} is not a whole .npz file: {reason}")


def shape_of(path, archive, member):
    name = member.filename
    with archive.open(member) as file:
        try:
            shape, _, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        except UNREADABLE_HEADER as error:
            raise damaged(path, f"{name} is not an array of a known version") from error
        size = member.file_size - file.tell()
    if dtype.str[1:] not in TYPES:
        raise ValueError(f"{path}: {name} holds {dtype}. Only arrays of numbers are imported")
    if not are_sizes(shape) or math.prod(shape) * dtype.itemsize != size:
        raise damaged(path, f"{name} has {size:,} bytes and the shape {shape}")
    return shape


def read_member(path, filename):
    try:
        with zipfile.ZipFile(path) as archive, archive.open(filename) as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    except (*UNREADABLE, ValueError) as error:
        raise damaged(path, f"{filename}: {error}") from error
