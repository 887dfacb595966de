"""A file of PyTorch gives its numbers, and nothing that it contains is run.

The files are written by hand, as `torch.save` writes them.
"""

import os
import pickle
import zipfile

import numpy as np
import pytest

from t2t_keras.importing.files.pytorch_file import read_pytorch

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
    arguments = (storage, offset, shape, strides, False, Call("collections OrderedDict", ()))
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


PROTOCOL = b"\x80\x02"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pytorch_model.bin"


def refusal(path):
    with pytest.raises(ValueError) as error:
        for each in read_pytorch(path).values():
            each.read()
    assert str(path) in str(error.value) and "safetensors" in str(error.value)
    return str(error.value)


def test_numbers_of_every_type_are_read_as_float32(path):
    half, brain = NUMBERS.astype("<f2"), (NUMBERS.view("uint32") >> 16).astype("<u2")
    hooks = Call("collections OrderedDict", ())
    value = {
        "full": tensor(),
        "half": tensor(storage=stored("1", storage="torch HalfStorage")),
        "brain": tensor(storage=stored("2", storage="torch BFloat16Storage")),
        "parameter": Call("torch._utils _rebuild_parameter", (tensor(), True, hooks)),
    }
    tensors = read_pytorch(write(path, value, {"0": NUMBERS, "1": half, "2": brain}))
    assert list(tensors) == list(value)
    for each in tensors.values():
        assert each.read().dtype == "float32"
        np.testing.assert_array_equal(each.read(), NUMBERS.reshape(3, 4))


def test_strides_and_offsets_select_numbers_of_a_storage(path):
    matrix = NUMBERS.reshape(3, 4)
    value = {
        "matrix": (tensor(), matrix),
        "same": (tensor(), matrix),
        "transposed": (tensor((4, 3), (1, 4)), matrix.T),
        "column": (tensor((3,), (4,), 3), matrix[:, 3]),
        "scalar": (tensor((), (), 5), 5),
    }
    tensors = read_pytorch(write(path, {name: each[0] for name, each in value.items()}))
    for name, (_, expected) in value.items():
        np.testing.assert_array_equal(tensors[name].read(), expected, err_msg=name)
    assert tensors["matrix"] is tensors["same"] is not tensors["transposed"]


def test_a_state_dict_with_attributes_is_read(path):
    contents = pickled(Call("collections OrderedDict", ())) + pickled({"weight": tensor()})[1:]
    contents += pickled({"version": 1}) + pickle.BUILD + pickle.STOP
    tensors = read_pytorch(write(path, PROTOCOL + contents))
    np.testing.assert_array_equal(tensors["weight"].read(), NUMBERS.reshape(3, 4))


def test_a_pickle_that_would_run_code_does_not_run_it(path, tmp_path):
    trace = tmp_path / "trace"

    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(trace),)

    write(path, pickle.dumps({"weight": Attack()}, 2))
    assert f"{os.mkdir.__module__}.mkdir" in refusal(path)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Call("builtins eval", ()), "builtins.eval"),
        # Known names are called only as in a dict of tensors.
        (Call("collections OrderedDict", ((("a", 1),),)), "calls collections.OrderedDict"),
        (Call("torch FloatStorage", (10**12,)), "calls torch.FloatStorage"),
        (tensor((6,), (1,), storage=stored(count=6, storage="torch LongStorage")), "LongStorage"),
        (Call("torch._utils _rebuild_parameter", (((("a",),),), True)), "no attribute"),
        ((), "no attribute"),
        (tensor((((10**9,),),), (1,)), "a name, a shape or strides"),
        (tensor((1,) * 9, (1,) * 9), "a name, a shape or strides"),
        (tensor((3,), (-1,), 5), "a name, a shape or strides"),
        (tensor((3, 5), (0, 0)), "weight is larger than its storage"),
        (tensor((13,), (1,)), "weight is larger than its storage"),
        (tensor(key="9"), "weight is larger than its storage"),
        (tensor((3,), (5,), 2), ""),  # numbers beyond the storage
        (tensor(kind="module"), "not a storage"),
    ],
)
def test_every_other_name_call_and_value_is_refused(path, call, message):
    assert message in refusal(write(path, {"weight": call}))


@pytest.mark.parametrize(
    "contents",
    [
        *(PROTOCOL + each for each in (b"(X\x01\0\0\0aios\nmkdir\n.", b"\x8c\x01a)\x81.")),
        *(PROTOCOL + each for each in (b"}", b"]K\x01a.", b"}h\x05.")),
        PROTOCOL + b"K\x01r\xff\xff\xff\x7f.",  # a memo that has 2**31 places in C
        b"0" * (2**22 + 1),
    ],
)
def test_instructions_that_no_tensor_needs_are_refused(path, contents):
    refusal(write(path, contents))


@pytest.mark.parametrize("contents", [pickle.dumps({"weight": 1}, 2), b"", b"PK\x03\x04 cut"])
def test_files_before_pytorch_1_6_and_other_files_are_refused(path, contents):
    path.write_bytes(contents)
    assert "PyTorch 1.6" in refusal(path)


@pytest.mark.parametrize("options", [{"compression": zipfile.ZIP_DEFLATED}, {"folder": "a/b/"}])
def test_other_members_are_refused(path, options):
    refusal(write(path, {"weight": tensor()}, **options))


def test_changed_numbers_are_noticed(path):
    tensors = read_pytorch(write(path, {"weight": tensor()}))
    contents = path.read_bytes()
    place = contents.index(NUMBERS.tobytes()) + 17
    path.write_bytes(contents[:place] + b"\x55" + contents[place + 1 :])
    with pytest.raises(ValueError, match="Bad CRC-32 for file 'archive/data/0'"):
        tensors["weight"].read()
