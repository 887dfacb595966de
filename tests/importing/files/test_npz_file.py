"""Crafted and damaged .npz files are refused with one message."""

import io
import zipfile

import numpy as np
import pytest

from t2t_keras.importing.files.npz_file import read_npz


@pytest.fixture
def path(tmp_path):
    np.savez(tmp_path / "model.npz", a=np.ones((2, 3), "float32"))
    return tmp_path / "model.npz"


def add(path, header, contents=b""):
    """Adds a member with a header that NumPy does not write."""
    size = len(header).to_bytes(2, "little")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("odd.npy", b"\x93NUMPY\x01\x00" + size + header.encode() + contents)


@pytest.mark.parametrize(
    "header", ["(((", "{'descr': [('a', 'f4', -1)], 'fortran_order': False, 'shape': ()}"]
)
def test_a_malformed_header_is_refused(path, header):
    add(path, header)
    with pytest.raises(ValueError, match=r"is not a whole \.npz file: odd\.npy is not an array"):
        read_npz(path)


@pytest.mark.parametrize(
    ("shape", "size"),
    [("(1000000000000,)", 8), ("(True, True, 8)", 32), ("(-2, -4)", 32), ("(0, -5)", 0)],
)
def test_a_shape_that_is_not_of_sizes_or_not_of_the_contents_is_refused(path, shape, size):
    add(path, f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}", bytes(size))
    with pytest.raises(
        ValueError, match=rf"is not a whole \.npz file: odd\.npy has {size} bytes and"
    ):
        read_npz(path)


def test_bytes_may_have_any_name_of_a_member(path):
    contents = io.BytesIO()
    np.save(contents, np.frombuffer(b"text", "int8"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("special:model.yml", contents.getvalue())
    tensors = read_npz(path)
    assert tensors["special:model.yml"].stored().tobytes() == b"text"
    np.testing.assert_array_equal(tensors["a"].read(), np.ones((2, 3)))


def test_a_truncated_file_is_refused(path):
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"is not a whole \.npz file"):
        read_npz(path)
