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

FLOATS = ("f2", "f4", "f8")
BYTES = ("i1", "u1")
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # NumPy's compression methods
MOST_COMPRESSED = 1100  # upper bound on the compression ratio of zlib
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


class NpzFile:
    """The arrays of an .npz file.

    Args:
        path: path of the file.

    Attributes:
        tensors: {name: `Tensor`} of the floating-point arrays.
        others: {name: name of the zip file's member} of the byte arrays; see `read_bytes`.
    """

    def __init__(self, path):
        self.path = path
        self.tensors, self.others = {}, {}
        try:
            with zipfile.ZipFile(path) as archive:
                size = path.stat().st_size
                for member in archive.infolist():
                    self.add(archive, member, size)
        except UNREADABLE as error:
            raise self.damaged(error) from error

    def damaged(self, reason):
        return ValueError(f"{self.path} is not a whole .npz file: {reason}")

    def add(self, archive, member, size):
        name = member.filename.removesuffix(".npy")
        if member.compress_type not in METHODS or member.flag_bits & 1:
            raise self.damaged(f"{name} is encrypted, or compressed as NumPy does not compress")
        if member.compress_size > size or member.file_size > MOST_COMPRESSED * size:
            raise self.damaged(f"{name} has {member.file_size:,} bytes, more than the file holds")
        if name in self.tensors or name in self.others:
            raise self.damaged(f"{name} occurs twice")
        with archive.open(member) as file:
            try:
                header = HEADERS[np.lib.format.read_magic(file)]
                shape, _, dtype = header(file)
            except UNREADABLE_HEADER as error:
                raise self.damaged(f"{name} is not an array of a known version") from error
            start = file.tell()
        kind = dtype.str[1:]
        if kind not in FLOATS + BYTES:
            raise ValueError(
                f"{self.path}: {name} holds {dtype}. Only arrays of numbers are imported"
            )
        if not are_sizes(shape) or math.prod(shape) * dtype.itemsize != member.file_size - start:
            raise self.damaged(
                f"{name} has {member.file_size - start:,} bytes and the shape {shape}"
            )
        if kind in BYTES:
            self.others[name] = member.filename
        else:
            compute = functools.partial(self.read, member.filename)
            self.tensors[name] = Tensor(shape, compute)

    def read(self, filename):
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(filename) as file:
                return np.lib.format.read_array(file, allow_pickle=False)
        except (*UNREADABLE, ValueError) as error:
            raise self.damaged(f"{filename}: {error}") from error

    def read_bytes(self, name):
        """Returns the contents of a byte array."""
        return self.read(self.others[name]).tobytes()
