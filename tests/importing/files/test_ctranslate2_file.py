import struct

import numpy as np
import pytest
from support.importing.ctranslate2_folder import random_model, write_model

from t2t_keras.importing.files.ctranslate2_file import CTranslate2File

MATRIX = np.arange(-6, 6, dtype="float32").reshape(3, 4) / 4


def stored(kind):
    """Returns the matrix as stored in a type, with its scale if it has one."""
    if kind == "int8":
        scale = 127 / np.abs(MATRIX).max(axis=1)
        rounded = np.round(MATRIX * scale[:, None]).astype("int8")
        return {"w": rounded, "w_scale": scale.astype("float32")}, 0.02
    if kind == "int16":
        return {"w": (MATRIX * 1000).astype("int16")}, 0
    if kind == "int16 with one scale":
        return {"w": (MATRIX * 400).astype("int16"), "w_scale": np.float32(400)}, 0
    if kind == "bfloat16":
        return {"w": ("bfloat16", (MATRIX.view("uint32") >> 16).astype("uint16"))}, 0
    return {"w": MATRIX.astype(kind)}, 0


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        *[(version, "float32") for version in range(1, 7)],
        *[(version, "int8") for version in range(1, 7)],
        *[(version, "int16") for version in (1, 4)],
        *[(version, "int16 with one scale") for version in (2, 6)],
        *[(version, kind) for version in (4, 5, 6) for kind in ("float16", "bfloat16")],
    ],
)
def test_every_version_and_type_is_read(tmp_path, version, kind):
    variables, error = stored(kind)
    write_model(tmp_path / "model.bin", {"first": np.float32(2.5), **variables}, version)
    model = CTranslate2File(tmp_path / "model.bin")
    assert model.version == version and list(model.tensors) == ["w"]
    np.testing.assert_allclose(model.tensors["w"].read(), MATRIX, rtol=0, atol=error)
    assert model.attributes["first"] == 2.5


def test_an_alias_is_the_same_tensor_with_its_scale(tmp_path):
    variables, error = stored("int8")
    write_model(tmp_path / "model.bin", variables, aliases=[("other", "w")])
    model = CTranslate2File(tmp_path / "model.bin")
    assert model.same == {"w": "w", "w_scale": "w_scale", "other": "w", "other_scale": "w_scale"}
    np.testing.assert_allclose(model.tensors["other"].read(), MATRIX, rtol=0, atol=error)


def test_strings_are_attributes(tmp_path):
    variables = {"unk_token": np.frombuffer(b"<unk>", "int8"), "num_heads": np.int8(4)}
    write_model(tmp_path / "model.bin", variables)
    assert CTranslate2File(tmp_path / "model.bin").attributes == {
        "unk_token": "<unk>",
        "num_heads": 4,
    }


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.3, 0.7, 0.99, 0.9999])
@pytest.mark.parametrize("version", [1, 3, 6])
def test_a_truncated_file_is_refused(tmp_path, share, version):
    path = tmp_path / "model.bin"
    write_model(path, random_model(), version)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=rf"{path} is not a whole model of CTranslate2: "):
        CTranslate2File(path)


def header(version, *parts):
    return struct.pack("<I", version) + b"".join(parts)


NAME = struct.pack("<H", 2) + b"w\0"
SPEC = struct.pack("<H", 1) + b"\0" + struct.pack("<I", 1)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (header(7), r"has version 7 of CTranslate2's format.* Versions 1 to 6"),
        (b"PK\3\4" + bytes(50), r"or is not such a file"),
        (
            header(
                6,
                SPEC,
                struct.pack("<I", 1),
                NAME,
                struct.pack("<BIBI", 1, 2**31, 0, 2**33 & 0xFFFFFFFF),
            ),
            r"w has .* bytes and the shape \[2147483648\]",
        ),
        (
            header(6, SPEC, struct.pack("<I", 1), NAME, struct.pack("<BIBI", 1, 2**29, 0, 2**31)),
            r"w needs 2,147,483,648 bytes, more than the file has left",
        ),
        (
            header(6, SPEC, struct.pack("<I", 1), NAME, struct.pack("<BIBI", 1, 1, 9, 4), bytes(8)),
            r"w has the unknown type 9",
        ),
        (
            header(1, struct.pack("<I", 1), NAME, struct.pack("<BIBI", 1, 1, 8, 1), bytes(8)),
            r"w has the unknown type 8",
        ),
        (header(6, SPEC, struct.pack("<II", 0, 0), b"more"), r"4 bytes are left after its end"),
        (header(6, SPEC, struct.pack("<I", 2**32 - 1)), r"ends in the middle"),
        (
            header(6, SPEC, struct.pack("<II", 0, 1), NAME, NAME),
            r"w is another name of w, which it does not have",
        ),
        (
            header(6, SPEC, struct.pack("<I", 1), NAME, struct.pack("<B9I", 9, *[1] * 9))
            + bytes(9),
            r"w has the shape \[1, 1, 1, 1, 1, 1, 1, 1, 1\]",
        ),
        (
            header(6, SPEC, struct.pack("<I", 1), NAME, struct.pack("<B3I", 3, 0, 2**31, 2**31))
            + bytes(9),
            r"w has the shape \[0, 2147483648, 2147483648\]",
        ),
        (header(6, struct.pack("<H", 3) + b"\xff\xfe\0"), r"ends in the middle of its header"),
    ],
)
def test_headers_that_lie_are_refused(tmp_path, contents, message):
    path = tmp_path / "model.bin"
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=message):
        CTranslate2File(path)


def test_a_name_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "model.bin"
    entry = NAME + struct.pack("<BIBI", 1, 1, 0, 4) + bytes(4)
    path.write_bytes(header(6, SPEC, struct.pack("<I", 2), entry, entry, struct.pack("<I", 0)))
    with pytest.raises(ValueError, match="w occurs twice"):
        CTranslate2File(path)


def test_a_string_of_many_names_is_read_once(tmp_path):
    path = tmp_path / "model.bin"
    names = b"".join(struct.pack("<H", 5) + b"%04d\0" % n + NAME for n in range(9999))
    string = NAME + struct.pack("<BIBI", 1, 2**12, 1, 2**12) + b"a" * 2**12
    path.write_bytes(header(6, SPEC, struct.pack("<I", 1), string, struct.pack("<I", 9999), names))
    attributes = CTranslate2File(path).attributes
    assert len(attributes) == 10_000 and len(set(map(id, attributes.values()))) == 1
