"""The file `pytorch_model.bin` of PyTorch 1.6 and later, read without running its pickle.

It is a zip file. `data.pkl` is a pickle of {name: tensor}, and each storage of numbers is a
separate member, `data/0`, `data/1`, … A pickle is a program: unpickling could call any function.
Here it can name six classes and functions only, and gets an inert `Name` in place of each.
"""

import functools
import io
import math
import pickle
import zipfile
from typing import NamedTuple

import numpy as np

from t2t_keras.importing.files.safetensors_file import MOST_AXES, floats, stored_type
from t2t_keras.importing.files.whole_file import are_sizes, reading
from t2t_keras.importing.tensors import Tensor

KIND = "dict of tensors of PyTorch 1.6 or later"
WAY_OUT = "Save the model in the safetensors format (model.safetensors) and import that"
LONGEST_PICKLE = 2**22  # bytes, enough for names and shapes; 1 byte may become 100 in memory
STORAGES = {
    "torch.FloatStorage": "float32",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": "bfloat16",
}
DICT = "collections.OrderedDict"
TENSOR = "torch._utils._rebuild_tensor_v2"
PARAMETER = "torch._utils._rebuild_parameter"


class StateDict(dict):
    """A dict that a pickle may give attributes, such as the versions of layers."""


class View(NamedTuple):
    """A tensor: a member of the zip file, and the part of its numbers that the tensor has."""

    key: str
    dtype: str
    offset: int = 0
    shape: tuple = ()
    strides: tuple = ()


class Name(NamedTuple):
    """The name of a class or function, whose call returns an object without behavior."""

    text: str

    def __call__(self, *arguments):
        if self.text == DICT and not arguments:
            return StateDict()
        if self.text == TENSOR:
            storage, offset, shape, strides, *_ = arguments
            return storage._replace(offset=offset, shape=shape, strides=strides)
        if self.text == PARAMETER:
            return arguments[0]
        raise pickle.UnpicklingError(f"it calls {self.text}")


class TensorUnpickler(pickle._Unpickler):
    """Builds {name: `View`}. The faster `pickle.Unpickler` allocates gigabytes for a few bytes."""

    def find_class(self, module, name):
        text = f"{module}.{name}"
        if text not in (DICT, TENSOR, PARAMETER, *STORAGES):
            raise pickle.UnpicklingError(f"it names {text:.200}, which is not a tensor")
        return Name(text)

    def persistent_load(self, pid):
        kind, storage, key, *_ = pid
        if kind != "storage" or type(key) is not str:
            raise pickle.UnpicklingError("it refers to something that is not a storage")
        return View(key, STORAGES[storage.text])


def read_pytorch(path):
    """Returns {name: `Tensor`} of a file. Names of the same tensor share one object.

    Raises:
        ValueError: the file is damaged, has an old format, or contains anything but tensors.
    """
    with reading(path, KIND, WAY_OUT), zipfile.ZipFile(path) as archive:
        members, limit = archive.infolist(), path.stat().st_size
        if any(each.compress_type or each.file_size > limit for each in members):
            raise ValueError("a member is compressed, or larger than the file")
        sizes = {member.filename: member.file_size for member in members}
        (contents,) = (name for name in sizes if name.split("/", 1)[-1] == "data.pkl")
        folder = contents.removesuffix("data.pkl")
        if sizes[contents] > LONGEST_PICKLE:
            raise ValueError("its data.pkl has more than 4 MiB")
        if sizes.get(f"{folder}byteorder") and archive.read(f"{folder}byteorder") != b"little":
            raise ValueError("its numbers are not little-endian")
        views = TensorUnpickler(io.BytesIO(archive.read(contents))).load()
        for name, view in views.items():
            check_view(name, view, sizes.get(f"{folder}data/{view.key}", 0))
    tensors = {
        view: Tensor(view.shape, functools.partial(read_view, path, f"{folder}data/", view))
        for view in views.values()
    }
    return {name: tensors[view] for name, view in views.items()}


def check_view(name, view, size):
    """Raises `ValueError` if a tensor needs more than the `size` bytes of its storage.

    A stride of 0 would repeat numbers, so that a small file could become a large tensor. No message
    contains unchecked values: a few bytes of a pickle can describe a text that fills the memory.
    """
    is_plain = type(name) is str and type(view.shape) is type(view.strides) is tuple
    if (
        not is_plain
        or len(view.shape) > MOST_AXES
        or not are_sizes((view.offset, *view.shape, *view.strides))
    ):
        raise ValueError("a name, a shape or strides do not belong to a tensor")
    if math.prod(view.shape) * stored_type(view.dtype).itemsize > size:
        raise ValueError(f"{name:.80} is larger than its storage")


def read_view(path, folder, view):
    """Returns the array of a tensor. NumPy refuses one that is not inside its storage."""
    dtype = stored_type(view.dtype)
    strides = [stride * dtype.itemsize for stride in view.strides]
    with reading(path, KIND, WAY_OUT), zipfile.ZipFile(path) as archive:
        numbers = archive.read(folder + view.key)
        array = np.ndarray(view.shape, dtype, numbers, view.offset * dtype.itemsize, strides)
    return floats(array, view.dtype)
