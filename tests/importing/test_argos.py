"""A package of Argos Translate is imported as its model, its SentencePiece model and its facts."""

import numpy as np
import pytest
from support.importing.argos_package import write_package
from support.importing.small_sentencepiece import unigram_model

from t2t_keras.importing import argos
from t2t_keras.importing.formats import read_model


@pytest.fixture
def package(tmp_path):
    return write_package(tmp_path)


def test_the_special_pieces_come_first_and_the_source_has_no_end(package):
    imported = read_model(package)
    assert imported.source is imported.target and not imported.config.source_end
    assert imported.source.pieces[:4] == ["<blank>", "<s>", "</s>", "<unk>"]
    assert len(imported.source.pieces) == 161


def test_the_package_says_its_languages_its_search_and_its_origin(package):
    imported = read_model(package)
    assert imported.languages == ["en", "pt-BR"]
    assert imported.search == {"beam": 4, "alpha": 0.2, "penalty": "marian"}
    facts = imported.origin["argos"]
    assert facts["license"] == "CC0" and facts["description"].startswith("# English-Portuguese")
    assert imported.notes == [
        "English (en) to Portuguese (pt-BR), package version 1.0",
        "license: CC0",
    ]


def test_weights_in_int8_are_close_and_said_to_be(package, tmp_path):
    exact, rounded = read_model(package), read_model(write_package(tmp_path / "int8", int8=True))
    assert any("in int8 become float32" in note for note in rounded.notes)
    assert not any("int8" in note for note in exact.notes)
    for path, tensor in exact.weights.items():
        original, found = tensor.read(), rounded.weights[path].read()
        if original.ndim == 2:  # kernels are transposed: a row of the file is a column
            most = np.abs(original).max(axis=0 if path.endswith("kernel") else 1, keepdims=True)
            assert (np.abs(original - found) <= most / 254 + 1e-6).all(), path


def test_a_sentencepiece_model_of_another_model_is_refused_with_numbers(tmp_path):
    other = unigram_model(160, user_defined_symbols=",".join(f"piece{i}" for i in range(100)))
    numbers = r"of the 157 pieces .* and the 157 tokens .*, \d+ are the same \(source and target\)"
    with pytest.raises(ValueError, match=numbers):
        read_model(write_package(tmp_path, model=other))


PAIR = {"from_code": "en", "to_code": "de"}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"type": "sbd", **PAIR}, "of the type 'sbd'. Only packages that translate"),
        ({"from_codes": ["en", "fr"], "to_code": "de", "argos_version": "1"}, "one from_code and"),
        ({**PAIR, "target_prefix": "__de__"}, r"begin with the token '__de__' \(target_prefix\)"),
        ([], "must hold a JSON object"),
    ],
)
def test_other_packages_are_refused(tmp_path, metadata, message):
    with pytest.raises(ValueError, match=message):
        argos.read(write_package(tmp_path, metadata=metadata))


def test_packages_without_a_part_are_refused(package):
    (package / "sentencepiece.model").rename(package / "bpe.model")
    with pytest.raises(ValueError, match=r"tokenized by Moses .* import .* --format=ctranslate2"):
        read_model(package)
    for name, message in {
        "bpe.model": r"without sentencepiece\.model",
        "model/model.bin": "through a third language",
        "metadata.json": r"has no metadata\.json",
    }.items():
        (package / name).unlink()
        with pytest.raises(ValueError, match=message):
            argos.read(package)
    (package / "metadata.json").write_text("{")
    with pytest.raises(ValueError, match=r"metadata\.json is not a whole JSON file"):
        read_model(package)
