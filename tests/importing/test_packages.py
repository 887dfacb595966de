"""A file may stand for a model; the entries of a zip file can do no harm."""

import os
import stat
import zipfile
from pathlib import Path

import pytest
from support.importing.argos_package import NAME, pack, write_package

from t2t_keras.importing.packages import source_of


def found(path, tmp_path, format=None):
    """Returns `source_of` a path, with the folder relative to the one for unpacking."""
    folder, *rest = source_of(path, format, tmp_path / "unpacked")
    if folder.is_relative_to(tmp_path / "unpacked"):
        folder = folder.relative_to(tmp_path / "unpacked").as_posix()
    return folder, *rest


def test_one_file_stands_for_its_folder(tmp_path):
    for name, format in {
        "model.bin": "ctranslate2",
        "model.safetensors": "hugging_face",
        "pytorch_model.bin": "hugging_face",
    }.items():
        (tmp_path / name).touch()
        assert found(tmp_path / name, tmp_path) == (tmp_path, format, {})
    path = tmp_path / "best.npz"
    path.touch()
    assert found(path, tmp_path) == (tmp_path, "marian", {"model": path})
    assert found(path, tmp_path, "ctranslate2") == (tmp_path, "ctranslate2", {})


def test_the_inner_folder_of_an_argos_package_stands_for_the_package(tmp_path, monkeypatch):
    package = write_package(tmp_path)
    inner = package / "model"
    for path in (inner, inner / "model.bin", package / "metadata.json"):
        assert found(path, tmp_path) == (package, "argos", {})
    assert found(inner, tmp_path, "ctranslate2") == (inner, "ctranslate2", {})
    monkeypatch.chdir(inner)
    assert source_of(".", None, tmp_path)[0] == package


def test_zip_files_are_searched_for_the_outermost_model_or_a_format(tmp_path):
    path = pack(write_package(tmp_path), tmp_path / "package.argosmodel")
    assert found(path, tmp_path) == (NAME, None, {})
    assert (tmp_path / "unpacked" / NAME / "model" / "model.bin").exists()
    path = Path(path).rename(tmp_path / "package.zip")
    inner = source_of(path, "ctranslate2", tmp_path / "again")
    assert inner == (tmp_path / "again" / NAME / "model", "ctranslate2", {})
    with pytest.raises(
        ValueError, match=r"holds no model of marian\. Its files are: README\.md, config"
    ):
        source_of(path, "marian", tmp_path / "marian")


def zip_file(path, *entries, **options):
    """Writes a zip file of entries (name or `ZipInfo`, contents)."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, contents in entries:
            archive.writestr(name, contents)
    return path


def encrypted(path):
    """Writes a zip file whose list of entries says that its entry is encrypted."""
    file = bytearray(zip_file(path, ("model.bin", b"x")).read_bytes())
    file[file.index(b"PK\x01\x02") + 8] = 1
    path.write_bytes(file)


def cut(path):
    path.write_bytes(zip_file(path, ("model.bin", bytes(9999))).read_bytes()[:5000])


def bomb(path):
    zip_file(path, ("model.bin", bytes(40 << 20)), compression=zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["a.txt"], "no model of a known format .* Its files are: a.txt"),
        (["x/model.pt"], "holds a PyTorch model. Convert it with CTranslate2"),
        (["a/model.bin", "b/model.bin"], "holds 2 models: a, b. Unpack it and"),
        (encrypted, "is not a whole zip file: .* is encrypted"),
        (bomb, "claims to hold 41,943,040 bytes, too many for its own size"),
        (cut, "is not a whole zip file: File is not a zip file. Download or copy it again"),
    ],
)
def test_zip_files_without_one_model_are_refused(tmp_path, entries, message):
    path = tmp_path / "model.zip"
    if callable(entries):
        entries(path)
    else:
        zip_file(path, *((each, b"x") for each in entries))
    with pytest.raises(ValueError, match=message):
        source_of(path, None, tmp_path / "unpacked")


def test_entries_are_unpacked_inside_the_folder_links_as_files_and_those_of_macos_not(tmp_path):
    info = zipfile.ZipInfo("m/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    names = "../../model.bin", "/m/a", info, "__MACOSX/m/._model.npz", "m/.DS_Store"
    path = zip_file(tmp_path / "a.zip", *((name, "/etc/passwd") for name in names))
    assert found(path, tmp_path) == (".", None, {})
    assert {each.name for each in tmp_path.iterdir()} == {"a.zip", "unpacked"}
    unpacked = {each.name: each for each in (tmp_path / "unpacked").rglob("*")}
    assert unpacked.keys() == {"model.bin", "m", "a", "link"}
    assert not unpacked["link"].is_symlink()


def test_other_files_are_refused_with_advice(tmp_path):
    os.mkfifo(tmp_path / "pipe.zip")
    for name, message in {
        "model.alphas.intgemm.bin": "is a quantized model of Marian",
        "model.tar.gz": "is not a model that can be imported by itself. Give the folder",
        "pipe.zip": r"pipe\.zip is no folder and no file",
        "none": "none does not exist",
    }.items():
        if name.startswith("model"):
            (tmp_path / name).touch()
        with pytest.raises(ValueError, match=message):
            source_of(tmp_path / name, None, tmp_path / "unpacked")
