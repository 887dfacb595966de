"""Files of NumPy arrays (.npz), read array by array."""

import functools
import zipfile

import numpy as np

from t2t_keras.importing.files.whole_file import are_sizes, reading
from t2t_keras.importing.tensors import Tensor

TYPES = ("f2", "f4", "f8", "i1", "u1")  # numbers and bytes
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npz(path):
    """Returns {name: `Tensor`} of a file, from the header of each array."""
    tensors = {}
    with reading(path, ".npz file"), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as file:
                shape, _, dtype = HEADERS[np.lib.format.read_magic(file)](file)
            if dtype.str[1:] not in TYPES or not are_sizes(shape):
                raise ValueError(f"{name} holds {dtype} of shape {shape}, and not numbers")
            compute = functools.partial(read_member, path, name)
            tensors[name.removesuffix(".npy")] = Tensor(shape, compute)
    return tensors


def read_member(path, name):
    with reading(path, ".npz file"), zipfile.ZipFile(path) as archive, archive.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
