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


def header(shape):
    return f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"


@pytest.mark.parametrize(
    ("header", "size"),
    [
        *[("(((", 0), ("{'descr': [('a', 'f4', -1)], 'fortran_order': False, 'shape': ()}", 0)],
        *[(header("(1000000000000,)"), 8), (header("(True, True, 8)"), 32)],
        *[(header("(-2, -4)"), 32), (header("(0, -5)"), 0)],
    ],
)
def test_an_array_with_a_wrong_header_is_refused(path, header, size):
    with zipfile.ZipFile(path, "a") as archive:
        start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        archive.writestr("odd.npy", start + bytes(size))
    with pytest.raises(ValueError, match=r"is not a whole \.npz file"):
        read_npz(path)["odd"].read()


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
