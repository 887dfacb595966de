import struct

import numpy as np
import pytest
from support.importing.ctranslate2_folder import random_model, write_model

from t2t_keras.importing.files.ctranslate2_file import CTranslate2File

MATRIX = np.arange(-6, 6, dtype="float32").reshape(3, 4) / 4
SCALE = 127 / np.abs(MATRIX).max(axis=1)
INT8 = {"w": np.round(MATRIX * SCALE[:, None]).astype("int8"), "w_scale": SCALE.astype("float32")}
STORED = {
    "float32": {"w": MATRIX},
    "float16": {"w": MATRIX.astype("float16")},
    "bfloat16": {"w": ("bfloat16", (MATRIX.view("uint32") >> 16).astype("uint16"))},
    "int8": INT8,
    "int16": {"w": (MATRIX * 1000).astype("int16")},
    "int16 with one scale": {"w": (MATRIX * 400).astype("int16"), "w_scale": np.float32(400)},
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bin"


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        *[(version, kind) for version in range(2, 7) for kind in ("float32", "int8")],
        *[(version, kind) for version in (2, 6) for kind in ("int16", "int16 with one scale")],
        *[(version, kind) for version in (4, 6) for kind in ("float16", "bfloat16")],
    ],
)
def test_every_version_and_type_is_read(path, version, kind):
    attributes = {"first": np.float32(2.5), "token": np.frombuffer(b"<unk>", "int8")}
    write_model(path, attributes | STORED[kind], version)
    model = CTranslate2File(path)
    assert model.version == version and list(model.tensors) == ["w"]
    error = 0.02 if kind == "int8" else 0
    np.testing.assert_allclose(model.tensors["w"].read(), MATRIX, rtol=0, atol=error)
    assert model.attributes == {"first": 2.5, "token": "<unk>"}


def test_an_alias_is_the_same_tensor_with_its_scale(path):
    write_model(path, INT8, aliases=[("other", "w")])
    model = CTranslate2File(path)
    assert model.tensors.keys() == {"w", "other"} and not model.attributes
    assert model.tensors["other"] is model.tensors["w"]
    np.testing.assert_allclose(model.tensors["other"].read(), MATRIX, rtol=0, atol=0.02)


@pytest.mark.parametrize("version", [2, 3, 6])
def test_a_truncated_file_is_refused(path, version):
    write_model(path, random_model(), version)
    contents = path.read_bytes()
    for length in (1, len(contents) // 100, len(contents) // 2, len(contents) - 1):
        path.write_bytes(contents[:length])
        with pytest.raises(ValueError, match=rf"{path} is not a whole model of CTranslate2: "):
            CTranslate2File(path)


SPEC = struct.pack("<HBI", 1, 0, 1)  # an empty name, and revision 1
NAME = struct.pack("<H", 2) + b"w\0"


def tensor(shape, kind, size):
    """Returns the header of a tensor named w."""
    return NAME + struct.pack(f"<B{len(shape)}IBI", len(shape), *shape, kind, size)


ONE = tensor([1], 0, 4) + bytes(4)


@pytest.mark.parametrize(
    ("version", "count", "contents", "message"),
    [
        (7, 0, b"", "it has version 7, and only 2 to 6"),
        (6, 1, tensor([2**31], 0, 0), r"w has .* bytes, .* shape \(2147483648,\)"),
        (6, 1, tensor([2**29], 0, 2**31), "w ends after the file"),
        (6, 1, tensor([1], 9, 4) + bytes(4), "w has 4 bytes, type 9 and shape"),
        (6, 2, ONE + ONE, "w ends after the file, or occurs twice"),
        (6, 0, struct.pack("<I", 0) + b"more", r"4 bytes are left after its end"),
        (6, 0, struct.pack("<I", 1) + NAME + NAME, r"w is another name of w, which it does not"),
    ],
)
def test_headers_that_lie_are_refused(path, version, count, contents, message):
    path.write_bytes(struct.pack("<I", version) + SPEC + struct.pack("<I", count) + contents)
    with pytest.raises(ValueError, match=message):
        CTranslate2File(path)
