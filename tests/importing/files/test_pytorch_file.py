"""A file of PyTorch gives its numbers, and nothing that it contains is run.

The files are written by hand, as `torch.save` writes them.
"""

import collections
import io
import os
import pickle
import signal
import sys
import zipfile

import numpy as np
import pytest
from support.importing.pytorch_files import Call, stored, tensor, write

from t2t_keras.importing.files.pytorch_file import read_pytorch

NUMBERS = np.arange(12, dtype="<f4")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pytorch_model.bin"


def refusal(path):
    with pytest.raises(ValueError) as error:
        read_pytorch(path)
    assert str(path) in str(error.value) and "safetensors" in str(error.value)
    return str(error.value)


def test_numbers_of_every_type_are_read_as_float32(path):
    half, brain = NUMBERS.astype("<f2"), (NUMBERS.view("uint32") >> 16).astype("<u2")
    value = {
        "full": tensor(),
        "half": tensor(storage=stored("1", storage="torch HalfStorage")),
        "brain": tensor(storage=stored("2", storage="torch BFloat16Storage")),
        "parameter": Call(
            "torch._utils _rebuild_parameter",
            (tensor(), True, Call("collections OrderedDict", ())),
        ),
    }
    tensors = read_pytorch(write(path, value, {"0": NUMBERS, "1": half, "2": brain}))
    assert list(tensors) == list(value)
    for each in tensors.values():
        assert each.read().dtype == "float32"
        np.testing.assert_array_equal(each.read(), NUMBERS.reshape(3, 4))


def test_strides_and_offsets_select_numbers_of_a_storage(path):
    value = {
        "transposed": tensor((4, 3), (1, 4)),
        "row": tensor((4,), (1,), 8),
        "column": tensor((3,), (4,), 3),
        "scalar": tensor((), (), 5),
        "empty": tensor((0, 4), (4, 1), 12),
    }
    tensors = read_pytorch(write(path, value))
    matrix = NUMBERS.reshape(3, 4)
    np.testing.assert_array_equal(tensors["transposed"].read(), matrix.T)
    np.testing.assert_array_equal(tensors["row"].read(), matrix[2])
    np.testing.assert_array_equal(tensors["column"].read(), matrix[:, 3])
    assert tensors["scalar"].read() == 5 and tensors["empty"].read().shape == (0, 4)


def test_names_of_the_same_numbers_share_one_tensor(path):
    tensors = read_pytorch(write(path, {"a": tensor(), "b": tensor(), "c": tensor((12,), (1,))}))
    assert tensors["a"] is tensors["b"] is not tensors["c"]


def test_dicts_with_attributes_and_newer_protocols_are_read(path):
    """`state_dict()` is an OrderedDict with an attribute; protocol 4 has other instructions."""
    module = type("torch", (), {})
    storage_type = type("FloatStorage", (), {"__module__": "torch", "__qualname__": "FloatStorage"})

    class Rebuilt:
        def __reduce__(self):
            empty = collections.OrderedDict()
            return rebuild, (Storage(), 0, (3, 4), (4, 1), True, empty)

    class Storage:
        pass

    def rebuild():
        pass

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if isinstance(value, Storage):
                return ("storage", storage_type, "0", "cpu", 12)
            return None

    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    modules = {"torch": module, "torch._utils": type("utils", (), {"_rebuild_tensor_v2": rebuild})}
    module.FloatStorage = storage_type
    state = collections.OrderedDict(weight=Rebuilt())
    state._metadata = collections.OrderedDict({"": {"version": 1}, "layer": {"version": 1}})
    for protocol in (2, 4):
        stream = io.BytesIO()
        with pytest.MonkeyPatch.context() as patch:
            for name, fake in modules.items():
                patch.setitem(sys.modules, name, fake)
            Pickler(stream, protocol).dump(state)
        tensors = read_pytorch(write(path, stream.getvalue()))
        np.testing.assert_array_equal(tensors["weight"].read(), NUMBERS.reshape(3, 4))


def test_a_pickle_that_would_run_code_does_not_run_it(path, tmp_path):
    trace = tmp_path / "trace"

    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(trace),)

    pickle.loads(pickle.dumps(Attack()))
    assert trace.exists()  # the attack works where a pickle is unpickled
    trace.rmdir()
    write(path, pickle.dumps({"weight": Attack()}, 2))
    assert f"{os.mkdir.__module__}.mkdir" in refusal(path)
    assert not trace.exists()


@pytest.mark.parametrize(
    "name",
    [
        "builtins eval",
        "builtins getattr",
        "argparse Namespace",
        "torch._utils _rebuild_qtensor",
        "torch.nn.modules.linear Linear",
        "collections OrderedDict.update",
    ],
)
def test_every_other_name_is_refused_by_name(path, name):
    assert name.replace(" ", ".") in refusal(write(path, {"weight": Call(name, ())}))


def test_known_names_are_called_only_as_in_a_dict_of_tensors(path):
    for call in (
        Call("collections OrderedDict", ((("a", 1),),)),
        Call("torch FloatStorage", (10**12,)),
    ):
        assert "calls" in refusal(write(path, {"weight": call}))


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        (b"\x80\x02(X\x01\0\0\0aios\nmkdir\n.", "INST"),
        (b"\x80\x04\x8c\x01a)\x81.", "NEWOBJ"),
        (b"\x80\x02\x82\x01.", "EXT1"),
        (b"\x80\x02}", "no end|damaged"),
        (b"\x80\x02.", "damaged"),
        (b"\x80\x02}h\x05.", "damaged"),
        (b"\x80\x02)R.", "damaged"),
        (b"\x80\x02K\x01K\x02R.", "damaged"),
        (b"\x80\x02}K\x01u.", "damaged"),
        (b"\x80\x02X\xff\xff\xff\xffa.", "damaged"),
        (b"\x80\x02]K\x01a.", "dict of tensors"),
        (b"\x80\x02}X\x01\0\0\0aK\x01s.", "a is not the name of a tensor"),
        (b"\x80\x02}q\x01X\x01\0\0\0ah\x01s.", "a is not the name of a tensor"),
        (b"", "damaged|no end"),
    ],
)
def test_instructions_that_no_tensor_needs_are_refused(path, instructions, message):
    write(path, instructions)
    with pytest.raises(ValueError, match=message):
        read_pytorch(path)
    refusal(path)


@pytest.mark.parametrize(
    "value",
    [
        tensor((3, 5), (4, 1)),
        tensor((3, 4), (5, 1)),
        tensor((3, 4), (4, 1), 1),
        tensor((13,), (1,)),
        tensor((10**6, 10**6), (0, 0)),
        tensor((12, 2), (1, 0)),
        tensor((3,), (-1,), 5),
        tensor((-3, -4), (4, 1)),
        tensor((3, 4), (4,)),
        tensor((3.0, 4), (4, 1)),
        tensor((1,) * 9, (1,) * 9),
        tensor((2**70,), (1,)),
        tensor((1,), (1,), 12),
        tensor(key="9"),
        tensor(count=13),
        tensor(count=-12),
        tensor(kind="module"),
        tensor(storage=(1, 2)),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(path, value):
    refusal(write(path, {"weight": value}))


NESTED = b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(100))


@pytest.mark.parametrize(
    "instructions",
    [
        b"}(K\x01" + NESTED + b"K\x01u.",  # the key of a dict
        b"}K\x01" + NESTED + b"K\x02s.",
        b"}X\x01\0\0\0aK\x01" + NESTED + b"s.",  # what should be a tensor
        b"(K\x01" + NESTED + b"ctorch\nFloatStorage\nK\x01K\x01K\x01tQ.",  # kind
        b"(X\x07\0\0\0storagectorch\nFloatStorage\nK\x01K\x01K\x01" + NESTED + b"tQ.",  # count
        b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n"
        b"X\x01\0\0\0aX\x01\0\0\0aK\x01tQK\x00K\x01" + NESTED + b"h\x00\x85tR.",  # shape
    ],
)
def test_values_whose_text_would_not_fit_in_memory_are_not_shown(path, instructions):
    refusal(write(path, b"\x80\x02" + instructions))


def test_half_a_megabyte_of_tuples_takes_less_than_ten_seconds_of_a_core(path):
    """It takes a fraction of a second; looking for each mark from the bottom took a minute."""

    def too_slow(*_):
        raise AssertionError("10 seconds are over")

    write(path, b"\x80\x02" + b"K\x01" * 100_000 + b"(t" * 100_000 + b".")
    before = signal.signal(signal.SIGVTALRM, too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10)
    try:
        assert "dict of tensors" in refusal(path)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_groups_may_be_nested(path):
    write(path, b"\x80\x02}(X\x01\0\0\0a((tK\x01tu.")
    assert "a is not the name of a tensor" in refusal(path)
    write(path, b"\x80\x02}(X\x01\0\0\0at.")
    assert "dict of tensors" in refusal(path)
    for unmarked in (b"\x80\x02}K\x01t.", b"\x80\x02}(K\x01tt."):
        write(path, unmarked)
        assert "damaged" in refusal(path)


def test_numbers_that_are_no_weights_are_refused_by_type(path):
    value = {
        "steps": tensor((6,), (1,), count=6, storage=stored(count=6, storage="torch LongStorage"))
    }
    assert "steps holds numbers of PyTorch's type Long" in refusal(write(path, value))


def test_files_before_pytorch_1_6_and_other_files_are_refused(path):
    for contents in (pickle.dumps({"weight": 1}, 2), b"", b"PK\x03\x04 and no more"):
        path.write_bytes(contents)
        assert "PyTorch 1.6" in refusal(path)


def test_compressed_and_ambiguous_members_are_refused(path):
    write(path, {"weight": tensor()}, compression=zipfile.ZIP_DEFLATED)
    assert "compressed" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}.")
        archive.writestr("b/data.pkl", b"\x80\x02}.")
    assert "2 members named data.pkl" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("constants.pkl", b"\x80\x02}.")
    assert "0 members named data.pkl" in refusal(path)


def test_big_endian_numbers_are_refused(path):
    write(path, {"weight": tensor()})
    path.write_bytes(path.read_bytes().replace(b"little", b"bigend"))
    with pytest.raises(ValueError, match=r"damaged|endian"):
        read_pytorch(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}.")
        archive.writestr("a/byteorder", "big")
    assert "little-endian" in refusal(path)


def test_changed_numbers_are_noticed(path):
    tensors = read_pytorch(write(path, {"weight": tensor()}))
    contents = path.read_bytes()
    place = contents.index(NUMBERS.tobytes()) + 17
    path.write_bytes(contents[:place] + b"\x55" + contents[place + 1 :])
    with pytest.raises(ValueError, match="data/0 is damaged"):
        tensors["weight"].read()


def test_cut_files_are_refused(path):
    contents = write(path, {"weight": tensor()}).read_bytes()
    for length in range(0, len(contents), 7):
        path.write_bytes(contents[:length])
        refusal(path)


def test_no_altered_byte_gives_another_error(path):
    """Every byte in turn: the numbers are read, or the file is refused."""
    contents = bytearray(write(path, {"weight": tensor()}).read_bytes())
    for place in range(len(contents)):
        altered = bytearray(contents)
        altered[place] ^= 0xFF
        path.write_bytes(altered)
        try:
            for each in read_pytorch(path).values():
                each.read()
        except ValueError as error:
            assert str(path) in str(error)
