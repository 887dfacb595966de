"""A safetensors file gives its numbers, and a malformed one an error before it is read."""

import numpy as np
import pytest
from support.importing.safetensors_files import write_header

from t2t_keras.importing.files.safetensors_file import read_safetensors


def write(path, header, data):
    write_header(path, header)
    path.write_bytes(path.read_bytes() + data)
    return path


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def test_numbers_of_every_type_are_read_as_float32(path):
    numbers = np.array([[1.5, -2, 0.25], [3, 1024, -0.0]], "float32")  # exact in 16 bits
    half, brain = numbers.astype("<f2"), (numbers.view("uint32") >> 16).astype("<u2")
    header = {
        "__metadata__": {"format": "pt"},
        "brain": entry("BF16", (2, 3), (36, 48)),
        "full": entry("F32", (2, 3), (0, 24)),
        "half": entry("F16", (3, 2), (24, 36)),
        "empty": entry("F32", (3, 0), (48, 48)),
    }
    data = numbers.tobytes() + half.tobytes() + brain.tobytes()
    tensors = read_safetensors(write(path, header, data))
    assert tensors.pop("empty").read().shape == (3, 0)
    assert list(tensors) == ["brain", "full", "half"]
    for name, tensor in tensors.items():
        assert tensor.read().dtype == "float32"
        np.testing.assert_array_equal(tensor.read(), numbers.reshape(tensor.shape), name)


def test_a_tensor_is_read_when_it_is_needed(path):
    tensors = read_safetensors(write(path, {"x": entry(shape=(), offsets=(4, 8))}, bytes(8)))
    write(path, {"x": entry(shape=(), offsets=(4, 8))}, np.array([4, 5], "<f4").tobytes())
    assert tensors["x"].read() == 5


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"[" * 100_000, "not a whole safetensors file"),
        ({"x": 1}, "not a whole safetensors file"),
        ({"x": entry(shape=(-2, -1))}, r"shape \[-2, -1\]"),
        ({"x": entry(shape=(3,))}, r"shape \[3\]"),
        ({"x": entry(offsets=(12, 20))}, r"x has the shape \[2\]"),
        ({"x": entry("I64", (1,))}, "type I64"),
    ],
)
def test_a_malformed_header_is_refused(path, header, message):
    with pytest.raises(ValueError, match=message) as error:
        read_safetensors(write(path, header, bytes(16)))
    assert str(path) in str(error.value)


@pytest.mark.parametrize("contents", [b"", b"\xff" * 8, b"\x03" + bytes(7) + b"{"])
def test_a_header_longer_than_the_file_is_refused(path, contents):
    path.write_bytes(contents)
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        read_safetensors(path)
