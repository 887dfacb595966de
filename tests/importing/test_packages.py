"""A file may stand for a model; a zip file is unpacked only if no entry can do harm."""

import os
import stat
import struct
import zipfile

import pytest
from support.importing import ctranslate2_folder, marian_folder
from support.importing.argos_package import NAME, pack, write_package

from t2t_keras.importing import packages
from t2t_keras.importing.packages import Source, source_of


def found(path, tmp_path, format=None):
    """Returns the `Source` of a path, whose folder is relative to the one for unpacking."""
    source = source_of(path, format, tmp_path / "unpacked")
    if source.folder.is_relative_to(tmp_path / "unpacked"):
        source = source._replace(folder=source.folder.relative_to(tmp_path / "unpacked").as_posix())
    return source


def test_one_file_stands_for_its_folder(tmp_path):
    folder = ctranslate2_folder.write_folder(tmp_path / "model")
    assert found(folder / "model.bin", tmp_path) == Source(folder, "ctranslate2")
    marian = marian_folder.write(tmp_path / "marian", marian_folder.arrays())
    (marian / "model.npz").rename(marian / "best.npz")
    (marian / "other.npz").touch()
    path = marian / "best.npz"
    assert found(path, tmp_path) == Source(marian, "marian", {"model": path})
    assert found(path, tmp_path, "ctranslate2") == Source(marian, "ctranslate2")
    (marian / "pytorch_model.bin").touch()
    assert found(marian / "pytorch_model.bin", tmp_path) == Source(marian, "hugging_face")


def test_the_inner_folder_of_an_argos_package_stands_for_the_package(tmp_path, monkeypatch):
    package = write_package(tmp_path)
    for path in (package / "model", package / "model" / "model.bin"):
        assert found(path, tmp_path) == Source(package, "argos")
    monkeypatch.chdir(package / "model")
    assert source_of(".", None, tmp_path).folder == package
    path = package / "model"
    assert found(path, tmp_path, "ctranslate2") == Source(path, "ctranslate2")


def test_zip_files_are_searched_for_the_outermost_model(tmp_path):
    package = write_package(tmp_path)
    path = pack(package, tmp_path / "package.argosmodel")
    assert found(path, tmp_path) == Source(NAME)
    assert (tmp_path / "unpacked" / NAME / "model" / "model.bin").exists()


def test_a_format_chooses_among_folders_of_a_zip_file(tmp_path):
    path = pack(write_package(tmp_path), tmp_path / "package.zip")
    assert found(path, tmp_path, "ctranslate2") == Source(f"{NAME}/model", "ctranslate2")
    with pytest.raises(ValueError, match=r"holds no model of marian\. Its files are: translate-en"):
        source_of(path, "marian", tmp_path / "again")


def zip_file(path, *entries, **options):
    """Writes a zip file of entries (name or `ZipInfo`, contents)."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, contents in entries:
            archive.writestr(name, contents)
    return path


def link(name, target):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target


def changed(path, offset, value):
    """Overwrites bytes of the first entry in the list at the end of a zip file."""
    contents = bytearray(path.read_bytes())
    at = contents.index(b"PK\x01\x02") + offset
    contents[at : at + len(value)] = value
    path.write_bytes(contents)


def encrypted(path):
    changed(zip_file(path, ("model.bin", b"x")), 8, b"\1\0")


def claims(size):
    def write(path):
        changed(zip_file(path, ("model.bin", b"x" * 100)), 24, struct.pack("<I", size))

    return write


def cut(path):
    contents = zip_file(path, ("model.bin", bytes(9999))).read_bytes()
    path.write_bytes(contents[: len(contents) // 2])


def damaged(path):
    contents = bytearray(zip_file(path, ("model.bin", b"x" * 999)).read_bytes())
    contents[500] ^= 1
    path.write_bytes(contents)


def bomb(path):
    zip_file(path, ("model.bin", bytes(1 << 25)), compression=zipfile.ZIP_DEFLATED)


def many(count, name="file"):
    return lambda path: zip_file(path, *((f"{name}{i}", b"") for i in range(count)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("../model.bin", b"x")], "its entry '../model.bin' is not the name of a file inside"),
        ([("a/../../b", b"x")], "its entry 'a/../../b' is not the name"),
        ([("/etc/model.bin", b"x")], "its entry '/etc/model.bin' is not the name"),
        ([("a\\..\\b", b"x")], r"is not the name of a file inside a folder"),
        ([("a//b", b"x")], "is not the name of a file inside a folder"),
        ([(".", b"x")], "is not the name of a file inside a folder"),
        ([("a" * 300, b"x")], "the name of its entry 'a+'… is too long"),
        ([("a/" * 600 + "b", b"x")], "is too long"),
        ([link("model.bin", "/etc/passwd")], "its entry 'model.bin' is a link or a device"),
        ([("a", b"x"), ("a", b"y")], "its entry 'a' occurs twice"),
        ([("a", b"x"), ("a/b", b"y")], "its entry 'a' occurs twice"),
        ([("a.txt", b"x")], "no model of a known format .* Its files are: a.txt"),
        ([("x/model.pt", b"x")], "holds a PyTorch model. Convert it with CTranslate2"),
        ([], "no model of a known format .* Its files are: none"),
        ([("a/model.bin", b""), ("b/model.bin", b"")], "holds 2 models: a, b. Unpack it and"),
        (encrypted, "its entry 'model.bin' is encrypted"),
        (claims(3_000_000_000), "its 216 bytes claim to hold 3,000,000,000"),
        (claims(1000), "not a whole zip file"),
        (cut, "is not a whole zip file: File is not a zip file. Download or copy it again"),
        (damaged, "is not a whole zip file: Bad CRC-32"),
        (bomb, "claim to hold 33,554,432, more than the weights of a model can be compressed"),
        (many(1500), "it has 1,500 entries, more than 1,000"),
        (many(4000, "f" * 240), "not a whole zip file: its list of entries is too long"),
        (lambda path: path.write_bytes(b""), "is not a whole zip file"),
        (lambda path: path.write_bytes(b"PK\5\6" + bytes(18)), "Its files are: none"),
    ],
)
def test_harmful_zip_files_are_refused(tmp_path, entries, message):
    path = tmp_path / "model.zip"
    entries(path) if callable(entries) else zip_file(path, *entries)
    (tmp_path / "in").mkdir()
    with pytest.raises(ValueError, match=message):
        source_of(path, None, tmp_path / "in" / "unpacked")
    outside = {each.name for each in tmp_path.iterdir()} | {
        e.name for e in (tmp_path / "in").iterdir()
    }
    assert outside <= {"model.zip", "in", "unpacked"}


def test_unusual_compression_and_a_full_disk_are_refused(tmp_path, monkeypatch):
    path = zip_file(tmp_path / "a.zip", ("model.bin", b"x"), compression=zipfile.ZIP_LZMA)
    with pytest.raises(ValueError, match="compressed in an unusual way"):
        source_of(path, None, tmp_path / "unpacked")
    usage = packages.shutil.disk_usage(tmp_path)._replace(free=5)
    monkeypatch.setattr(packages.shutil, "disk_usage", lambda folder: usage)
    path = zip_file(tmp_path / "b.zip", ("model.bin", b"123456"))
    with pytest.raises(ValueError, match=r"holds 6 bytes, and .* has room for 5\. Make room"):
        source_of(path, None, tmp_path / "unpacked")


def test_files_of_macos_are_not_unpacked(tmp_path):
    path = zip_file(
        tmp_path / "a.zip",
        ("m/model.bin", b""),
        ("__MACOSX/m/._model.npz", b""),
        ("m/.DS_Store", b""),
    )
    assert found(path, tmp_path) == Source("m")
    assert [each.name for each in (tmp_path / "unpacked").iterdir()] == ["m"]


def test_other_files_are_refused_with_advice(tmp_path):
    for name, message in (
        ("model.pt", "is a PyTorch model. Convert it"),
        ("model.alphas.intgemm.bin", "is a quantized model of Marian"),
        ("model.tar.gz", r"is not a model that can be imported by itself. Give the folder"),
    ):
        (tmp_path / name).touch()
        with pytest.raises(ValueError, match=message):
            source_of(tmp_path / name, None, tmp_path / "unpacked")
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(ValueError, match=r"pipe\.zip is no folder and no file"):
        source_of(tmp_path / "pipe.zip", None, tmp_path / "unpacked")
    with pytest.raises(ValueError, match="none does not exist"):
        source_of(tmp_path / "none", None, tmp_path / "unpacked")
