"""The file `pytorch_model.bin` of PyTorch 1.6 and later, read without running its pickle.

It is a zip file. `data.pkl` is a pickle of {name: tensor}, and each storage of numbers is a
separate member, `data/0`, `data/1`, … A pickle is a program: unpickling could call any function.
`Pickle` interprets the few instructions that a dict of tensors needs, and rejects all others. It
does not import or call anything that the pickle names.
"""

import functools
import math
import pickletools
import zipfile
from typing import NamedTuple

import numpy as np

from t2t_keras.importing.files.npz_file import UNREADABLE
from t2t_keras.importing.files.safetensors_file import ITEM_SIZES, MOST_AXES, are_sizes, floats
from t2t_keras.importing.tensors import Tensor

WAY_OUT = "Save the model in the safetensors format (model.safetensors) and import that"
LONGEST_PICKLE = 2**22  # bytes, enough for names and shapes; 1 byte may become 100 in memory
STORAGES = {
    "torch FloatStorage": "float32",
    "torch HalfStorage": "float16",
    "torch BFloat16Storage": "bfloat16",
}
# Other number types of PyTorch, which are not used for weights.
OTHER_STORAGES = {
    f"torch {kind}Storage": kind
    for kind in ("Double", "Long", "Int", "Short", "Char", "Byte", "Bool", "ComplexFloat")
}
ORDERED_DICT = "collections OrderedDict"
TENSOR = "torch._utils _rebuild_tensor_v2"
PARAMETER = "torch._utils _rebuild_parameter"
KNOWN = (ORDERED_DICT, TENSOR, PARAMETER, *STORAGES, *OTHER_STORAGES)


class Name(NamedTuple):
    """The name of a class or function in the pickle: "module name"."""

    text: str


class Storage(NamedTuple):
    """A member of the zip file with `count` numbers."""

    key: str
    dtype: str
    count: int


class View(NamedTuple):
    """A tensor: the numbers of a storage, starting at `offset`, with a stride for each axis."""

    storage: Storage
    offset: int
    shape: tuple
    strides: tuple


def read_pytorch(path):
    """Returns {name: `Tensor`} of a file. Names of the same tensor share one object.

    Raises:
        ValueError: the file is damaged, has an old format, or contains anything but tensors.
    """
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is not a whole file of PyTorch 1.6 or later. Older ones are pickles, which "
            f"are not opened because they can run any code. {WAY_OUT}"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            members = checked_members(path, archive)
            folder = folder_of(path, members)
            order = f"{folder}byteorder"
            if order in members and archive.read(order) != b"little":
                raise refused(path, "its numbers are not little-endian")
            contents = Pickle(path, archive.read(f"{folder}data.pkl")).value()
    except UNREADABLE as error:
        raise refused(path, f"it is damaged ({error})") from error
    if not isinstance(contents, dict):
        raise refused(path, "it does not hold a dict of tensors")
    tensors = {}
    for name, view in contents.items():
        if not isinstance(view, View):
            raise refused(path, f"{name:.80} is not the name of a tensor")
        if view not in tensors:
            check_view(path, name, view, members, folder)
            member = f"{folder}data/{view.storage.key}"
            tensors[view] = Tensor(view.shape, functools.partial(read_view, path, member, view))
    return {name: tensors[view] for name, view in contents.items()}


def refused(path, reason):
    return ValueError(f"{path} is not imported: {reason}. {WAY_OUT}")


def checked_members(path, archive):
    """Returns {name: size} of the members. Rejects compressed members, which could be huge."""
    sizes = {}
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise refused(path, f"{member.filename} is compressed or encrypted")
        if member.file_size != member.compress_size or member.filename in sizes:
            raise refused(path, f"{member.filename} has two sizes, or occurs twice")
        sizes[member.filename] = member.file_size
    if sum(sizes.values()) > path.stat().st_size:
        raise refused(path, "its members are larger than the file")
    return sizes


def folder_of(path, members):
    """Returns the folder inside the zip file that contains data.pkl, with a trailing slash."""
    found = [name for name in members if name.split("/", 1)[-1] == "data.pkl"]
    if len(found) != 1:
        raise refused(path, f"it has {len(found)} members named data.pkl, and not one")
    if members[found[0]] > LONGEST_PICKLE:
        raise refused(path, f"its data.pkl has {members[found[0]]:,} bytes")
    return found[0].removesuffix("data.pkl")


def check_view(path, name, view, members, folder):
    """Raises `ValueError` if a tensor is not inside its storage."""
    (key, dtype, count), offset, shape, strides = view
    member = f"{folder}data/{key}"
    if dtype not in ITEM_SIZES:
        raise refused(path, f"{name} holds numbers of PyTorch's type {dtype}")
    if members.get(member) != count * ITEM_SIZES[dtype]:
        raise refused(
            path, f"{name} needs {count:,} numbers, and {member} has {members.get(member)} bytes"
        )
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    # A stride of 0 would repeat numbers, so that a small file could become a large tensor.
    if math.prod(shape) > count - offset or (math.prod(shape) and last >= count):
        raise refused(
            path,
            f"{name} has the shape {shape} with strides {strides} from {offset:,}, and its "
            f"storage has {count:,} numbers",
        )


def read_view(path, member, view):
    """Returns the array of a tensor."""
    with zipfile.ZipFile(path) as archive:
        try:
            array = floats(archive.read(member), view.storage.dtype)[view.offset :]
        except UNREADABLE as error:
            raise refused(path, f"{member} is damaged ({error})") from error
    strides = [stride * array.itemsize for stride in view.strides]
    return np.lib.stride_tricks.as_strided(array, view.shape, strides, writeable=False)


class Pickle:
    """Computes the value that a pickle of tensors describes.

    Error messages contain types instead of values, because a few bytes of a pickle can describe a
    tuple of tuples whose text does not fit in memory.

    Args:
        path: the file, for error messages.
        contents: the bytes of the pickle.
    """

    def __init__(self, path, contents):
        self.path, self.contents = path, contents
        self.stack, self.memo = [], {}
        self.outer = []  # the stack before each open mark

    def value(self):
        """Interprets the pickle and returns its value."""
        try:
            for opcode, argument, _ in pickletools.genops(self.contents):
                if opcode.name == "STOP":
                    return self.stack.pop()
                self.step(opcode.name, argument)
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError) as e:
            if isinstance(e, Refusal):
                raise refused(self.path, e) from None
            raise refused(self.path, f"its data.pkl is damaged ({e!s:.200})") from e
        raise refused(self.path, "its data.pkl has no end")

    def step(self, name, argument):
        """Executes one instruction of the pickle."""
        stack = self.stack
        if name == "MARK":
            self.outer.append(stack)
            self.stack = []
        elif name in CONSTANTS:
            stack.append(argument if CONSTANTS[name] is None else CONSTANTS[name]())
        elif name in ("PROTO", "FRAME"):
            pass
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if name == "MEMOIZE" else argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self.memo[argument])
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            stack[-count:] = [tuple(stack[-count:])]
        elif name == "TUPLE":
            values = self.group()
            self.stack.append(tuple(values))
        elif name in ("APPEND", "APPENDS"):
            values = [stack.pop()] if name == "APPEND" else self.group()
            expected(self.stack[-1], list).extend(values)
        elif name in ("SETITEM", "SETITEMS"):
            values = [stack.pop(-2), stack.pop()] if name == "SETITEM" else self.group()
            # Only strings, because hashing nested tuples may take exponential time.
            keys = [expected(key, str) for key in values[::2]]
            expected(self.stack[-1], dict).update(zip(keys, values[1::2], strict=True))
        elif name == "GLOBAL":
            stack.append(known(argument))
        elif name == "STACK_GLOBAL":
            attribute, module = stack.pop(), stack.pop()
            stack.append(known(f"{expected(module, str)} {expected(attribute, str)}"))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(called(expected(function, Name).text, expected(arguments, tuple)))
        elif name == "BINPERSID":
            stack.append(storage_of(stack.pop()))
        elif name == "BUILD":  # attributes of a dict, such as versions of layers; not needed
            stack.pop()
            expected(stack[-1], dict)
        else:
            raise Refusal(f"its data.pkl has the instruction {name}, which no tensor needs")

    def group(self):
        """Closes the newest mark and returns the values after it."""
        values, self.stack = self.stack, self.outer.pop()
        return values


class Refusal(ValueError):
    """The pickle contains something that no tensor needs."""


# {instruction: function that returns the value to push}. If None, its argument is pushed.
CONSTANTS = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT")),
    **dict.fromkeys(("BINUNICODE", "SHORT_BINUNICODE")),
}


def expected(value, kind):
    """Returns a value after checking that it has the type `kind`."""
    if type(value) is not kind:
        raise ValueError(f"a {type(value).__name__} where a {kind.__name__} belongs")
    return value


def known(name):
    """Returns the `Name` of a class or function. Rejects names that no dict of tensors needs."""
    if name not in KNOWN:
        raise Refusal(f"its data.pkl names {name.replace(' ', '.'):.200}, which is not a tensor")
    return Name(name)


def called(name, arguments):
    """Returns the result of one of the three allowed functions."""
    if name == ORDERED_DICT and not arguments:
        return {}
    if name == TENSOR:
        storage, offset, shape, strides, *_ = arguments
        view = View(expected(storage, Storage), offset, expected(shape, tuple), strides)
        whole = are_sizes((offset, *shape, *expected(strides, tuple)))
        if not whole or len(shape) != len(strides) or len(shape) > MOST_AXES:
            raise ValueError("a tensor whose shape, strides or offset are not a few sizes")
        return view
    if name == PARAMETER:
        return expected(arguments[0], View)
    raise Refusal(f"its data.pkl calls {name.replace(' ', '.')}")


def storage_of(value):
    """Returns the `Storage` of a persistent id: ("storage", type, key, device, count)."""
    kind, storage, key, _, count = expected(value, tuple)
    name = expected(storage, Name).text
    if kind != "storage" or name not in {**STORAGES, **OTHER_STORAGES}:
        raise Refusal("its data.pkl refers to something that is not a storage of numbers")
    if not are_sizes([count]):
        raise ValueError(f"a storage whose size is not a count, but a {type(count).__name__}")
    dtype = STORAGES.get(name) or OTHER_STORAGES[name]
    return Storage(expected(key, str), dtype, count)
