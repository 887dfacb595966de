"""Writes files in the safetensors format."""

import json

import numpy as np

CODES = {"float16": "F16", "float32": "F32"}


def write_header(path, header):
    """Writes a file without numbers; `header` is JSON or a value for it."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)


def write_safetensors(path, shapes, arrays, dtype="float32"):
    """Writes the arrays of these shapes, {name: shape}, in their order."""
    header, end = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        header[name] = {"dtype": CODES[dtype], "shape": shape, "data_offsets": [end, end + size]}
        end += size
    write_header(path, header)
    with open(path, "ab") as file:
        for array in arrays:
            file.write(array.astype(dtype).tobytes())
