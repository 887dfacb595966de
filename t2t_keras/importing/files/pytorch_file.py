"""The file `pytorch_model.bin` of PyTorch 1.6 and later, read without running its pickle.

It is a zip file. `data.pkl` is a pickle of {name: tensor}, and each storage of numbers is a
separate member, `data/0`, `data/1`, … A pickle is a program: unpickling could call any function.
Here it can name six classes and functions only, and gets an inert `Name` in place of each.
"""

import functools
import io
import math
import pickle
import struct
import zipfile
from typing import NamedTuple

import numpy as np

from t2t_keras.importing.files.npz_file import UNREADABLE
from t2t_keras.importing.files.safetensors_file import ITEM_SIZES, MOST_AXES, are_sizes, floats
from t2t_keras.importing.tensors import Tensor

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
# Exceptions of `pickle` for a damaged pickle, or of `Name` for arguments that are not a tensor's.
DAMAGED = (
    *(pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError),
    *(OverflowError, RecursionError, MemoryError, AssertionError, struct.error),
)


class StateDict(dict):
    """A dict that a pickle may give attributes, such as the versions of layers."""


class View(NamedTuple):
    """A tensor: `count` numbers in a member of the zip file, and the part that it shows."""

    key: str
    dtype: str
    count: int
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
        kind, storage, key, _, count = pid
        if kind != "storage" or type(key) is not str:
            raise pickle.UnpicklingError("it refers to something that is not a storage")
        return View(key, STORAGES[storage.text], count)


def read_pytorch(path):
    """Returns {name: `Tensor`} of a file. Names of the same tensor share one object.

    Raises:
        ValueError: the file is damaged, has an old format, or contains anything but tensors.
    """

    def refused(reason):
        return ValueError(f"{path} is not imported: {reason}. {WAY_OUT}")

    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is not a whole file of PyTorch 1.6 or later. Older ones are pickles, which "
            f"are not opened because they can run any code. {WAY_OUT}"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            members, limit = archive.infolist(), path.stat().st_size
            if any(each.compress_type or each.file_size > limit for each in members):
                raise refused("a member is compressed, or larger than the file")
            sizes = {member.filename: member.file_size for member in members}
            found = [name for name in sizes if name.split("/", 1)[-1] == "data.pkl"]
            if len(found) != 1 or sizes[found[0]] > LONGEST_PICKLE:
                raise refused("it must have one data.pkl of at most 4 MiB")
            folder = found[0].removesuffix("data.pkl")
            if sizes.get(f"{folder}byteorder") and archive.read(f"{folder}byteorder") != b"little":
                raise refused("its numbers are not little-endian")
            contents = archive.read(found[0])
    except UNREADABLE as error:
        raise refused(f"it is damaged ({error})") from error
    try:
        start = f"{folder}data/"
        storages = {name.removeprefix(start): size for name, size in sizes.items()}
        views = TensorUnpickler(io.BytesIO(contents)).load()
        for name, view in views.items():
            check_view(name, view, storages)
    except DAMAGED as error:
        reason = f"{error!s:.200}" or type(error).__name__
        raise refused(f"its data.pkl is not a dict of tensors ({reason})") from error
    tensors = {
        view: Tensor(view.shape, functools.partial(read_view, path, folder, view, refused))
        for view in views.values()
    }
    return {name: tensors[view] for name, view in views.items()}


def check_view(name, view, sizes):
    """Raises `ValueError` if a tensor is not inside its storage.

    Messages contain types in place of unchecked values: a few bytes of a pickle can describe a
    tuple of tuples whose text does not fit in memory.

    Args:
        name: name of the tensor.
        view: the `View`.
        sizes: {key of a storage: size in bytes}.
    """
    if type(name) is not str or type(view) is not View:
        raise ValueError(f"a {type(name).__name__} with a {type(view).__name__} is no tensor")
    key, dtype, count, offset, shape, strides = view
    if not are_sizes((count, offset, *shape, *strides)) or len(shape) > MOST_AXES:
        raise ValueError(f"{name:.80} has a shape or strides that are not a few sizes")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    # A stride of 0 would repeat numbers, so that a small file could become a large tensor.
    is_inside = math.prod(shape) <= count - offset and (not math.prod(shape) or last < count)
    if sizes.get(key) != count * ITEM_SIZES[dtype] or not is_inside:
        raise ValueError(
            f"{name:.80} has the shape {shape} with strides {strides} from {offset:,}, and its "
            f"storage {sizes.get(key)} bytes for {count:,} numbers"
        )


def read_view(path, folder, view, refused):
    """Returns the array of a tensor."""
    member = f"{folder}data/{view.key}"
    try:
        with zipfile.ZipFile(path) as archive:
            array = floats(archive.read(member), view.dtype)[view.offset :]
    except UNREADABLE as error:
        raise refused(f"{member} is damaged ({error})") from error
    strides = [stride * array.itemsize for stride in view.strides]
    return np.lib.stride_tricks.as_strided(array, view.shape, strides, writeable=False)
