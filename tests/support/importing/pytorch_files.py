"""Writes files of PyTorch, also with pickles that PyTorch would not write."""

import pickle
import zipfile

import numpy as np

NUMBERS = np.arange(12, dtype="<f4")


class Call:
    """Is pickled as a call of a function, which need not exist."""

    def __init__(self, name, *arguments):
        self.name, self.arguments = name, arguments


class Stored(tuple):
    """Is pickled as a reference to a member of the zip file."""


def stored(key="0", count=12, storage="torch FloatStorage", kind="storage"):
    return Stored((kind, Call(storage), key, "cpu", count))


def tensor(shape=(3, 4), strides=(4, 1), offset=0, storage=None, **options):
    storage = storage or stored(**options)
    hooks = Call("collections OrderedDict", ())
    arguments = (storage, offset, shape, strides, False, hooks)
    return Call("torch._utils _rebuild_tensor_v2", arguments)


def pickled(value):
    """Returns the instructions of a value in protocol 2, which `torch.save` uses."""
    if isinstance(value, Stored):
        return pickled(tuple(value)) + pickle.BINPERSID
    if isinstance(value, Call):
        name = b"c%b\n" % value.name.replace(" ", "\n").encode()
        return name + b"".join(pickled(part) + pickle.REDUCE for part in value.arguments)
    if isinstance(value, tuple):
        return pickle.MARK + b"".join(map(pickled, value)) + pickle.TUPLE
    if isinstance(value, dict):
        items = b"".join(pickled(part) for item in value.items() for part in item)
        return pickle.EMPTY_DICT + pickle.MARK + items + pickle.SETITEMS
    return pickle.dumps(value, 2)[2:-1]  # without the frame of a whole pickle


def write(path, value, data=None, folder="archive/", **options):
    """Writes a zip file as `torch.save` does."""
    contents = value if isinstance(value, bytes) else b"\x80\x02" + pickled(value) + pickle.STOP
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.writestr(f"{folder}data.pkl", contents)
        archive.writestr(f"{folder}byteorder", "little")
        for key, array in (data or {"0": NUMBERS}).items():
            archive.writestr(f"{folder}data/{key}", np.asarray(array).tobytes())
        archive.writestr(f"{folder}version", "3\n")
    return path
