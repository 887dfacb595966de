"""Crafted and damaged .npz files of Marian are refused with one message."""

import io
import zipfile

import numpy as np
import pytest
from support.importing.marian_folder import arrays, write

from t2t_keras.importing.marian import read


def add_member(folder, name, contents):
    with zipfile.ZipFile(folder / "model.npz", "a") as archive:
        archive.writestr(name, contents)


HEADERS = [
    "(((",
    "'",
    "(" * 9000,
    "[" * 3000 + "]" * 3000,
    "-" * 9000 + "1",
    "{1: 2, 'a': 3}",
    "{'descr': '((', 'fortran_order': False, 'shape': ()}",
    "{'descr': [('a', 'f4', -1)], 'fortran_order': False, 'shape': ()}",
    "{'descr': ('f4', 10**30), 'fortran_order': False, 'shape': ()}",
]


@pytest.mark.parametrize("header", HEADERS)
def test_a_malformed_header_is_refused(tmp_path, header):
    folder = write(tmp_path, arrays())
    size = len(header).to_bytes(2, "little")
    add_member(folder, "odd.npy", b"\x93NUMPY\x01\x00" + size + header.encode())
    with pytest.raises(ValueError, match=r"is not a whole \.npz file: odd is not an array"):
        read(folder)


def test_settings_may_have_any_name_of_a_member(tmp_path):
    folder = write(tmp_path, arrays())
    with zipfile.ZipFile(folder / "model.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    (folder / "model.npz").unlink()
    for name, contents in members.items():
        add_member(folder, name.replace("yml.npy", "yml"), contents)
    assert read(folder).system == "Marian"


def test_a_truncated_file_is_refused(tmp_path):
    folder = write(tmp_path, arrays())
    contents = (folder / "model.npz").read_bytes()
    (folder / "model.npz").write_bytes(contents[: len(contents) // 2])
    with pytest.raises(ValueError, match=r"is not a whole \.npz file"):
        read(folder)


def test_a_header_that_claims_more_numbers_than_the_file_has_is_refused(tmp_path):
    folder = write(tmp_path, arrays())
    header = io.BytesIO()
    claim = {"descr": "<f4", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(header, claim)
    with zipfile.ZipFile(folder / "model.npz", "a") as archive:
        archive.writestr("huge.npy", header.getvalue() + bytes(8))
    with pytest.raises(ValueError, match=r"huge has 8 bytes and the shape \(1000000000000,\)"):
        read(folder)


@pytest.mark.parametrize("shape", ["(True, 4)", "(True, True, 8)", "(-2, -4)", "(0, -5)"])
def test_a_shape_that_is_not_of_sizes_is_refused(tmp_path, shape):
    folder = write(tmp_path, arrays())
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"
    size = len(header).to_bytes(2, "little")
    count = 0 if shape.startswith("(0") else 32 if "-2" in shape or "8" in shape else 16
    add_member(folder, "odd.npy", b"\x93NUMPY\x01\x00" + size + header.encode() + bytes(count))
    with pytest.raises(ValueError, match=r"is not a whole \.npz file: odd has \d+ bytes and"):
        read(folder)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_numpy_does_not_write_is_refused(tmp_path, method):
    folder = write(tmp_path, arrays())
    with zipfile.ZipFile(folder / "model.npz", "a", method) as archive:
        archive.writestr("odd.npy", bytes(100))
    place = (folder / "model.npz").read_bytes().rindex(b"PK\x03\x04") + 30 + len("odd.npy")
    with open(folder / "model.npz", "r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 12)  # the options of LZMA
    with pytest.raises(ValueError, match=r"npz file: odd is encrypted, or compressed as NumPy"):
        read(folder)
