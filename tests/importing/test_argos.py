"""A package of Argos Translate is imported as its model, its SentencePiece model and its facts."""

import json
import re

import ctranslate2
import numpy as np
import pytest
import sentencepiece
from support.importing.argos_package import METADATA, write_package
from support.importing.imported_logits import model_of
from support.importing.small_sentencepiece import TEXTS, unigram_model
from support.models.helpers import array

from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.importing import argos
from t2t_keras.importing import ctranslate2 as folders
from t2t_keras.importing.formats import read_model


def test_scores_are_those_of_argos_s_pieces_in_ctranslate2(tmp_path):
    package = write_package(tmp_path)
    imported = read_model(package)
    assert imported.source is imported.target and not imported.config.source_end
    processor = sentencepiece.SentencePieceProcessor(str(package / "sentencepiece.model"))
    tokenizer = MappedSentencePiece(imported.source.model, imported.source.pieces)
    model = model_of(imported)
    translator = ctranslate2.Translator(str(package / "model"), intra_threads=1)
    for text, target in zip(TEXTS[:4:2], TEXTS[1:4:2], strict=True):
        sides = [processor.encode(side, out_type=str) for side in (text, target)]
        (expected,) = translator.score_batch(*([side] for side in sides))
        ids = (np.array([[*side, 2]]) for side in tokenizer.encode([text, target]))
        found = array(log_probabilities(model, *ids))[0]
        np.testing.assert_allclose(found, expected.log_probs, rtol=1e-4, atol=1e-4)


def test_the_package_says_its_languages_its_search_and_its_origin(tmp_path):
    imported = read_model(write_package(tmp_path))
    assert imported.languages == ["en", "pt-BR"]
    assert imported.search == {"beam": 4, "alpha": 0.2, "penalty": "marian"}
    facts = imported.origin["argos"]
    assert facts["license"] == "CC0" and facts["description"].startswith("# English-Portuguese")
    assert imported.notes == [
        "English (en) to Portuguese (pt-BR), package version 1.0",
        "license: CC0",
    ]


def test_weights_in_int8_are_close_and_said_to_be(tmp_path):
    exact = read_model(write_package(tmp_path / "float"))
    rounded = read_model(write_package(tmp_path / "int8", int8=True))
    assert any("in int8 become float32" in note for note in rounded.notes)
    assert not any("int8" in note for note in exact.notes)
    for path, tensor in exact.weights.items():
        original, found = tensor.read(), rounded.weights[path].read()
        if original.ndim == 2:  # kernels are transposed: a row of the file is a column
            most = np.abs(original).max(axis=0 if path.endswith("kernel") else 1, keepdims=True)
            assert (np.abs(original - found) <= most / 254 + 1e-6).all(), path


def test_the_inner_folder_uses_the_sentencepiece_model_above_it(tmp_path):
    package = write_package(tmp_path)
    imported = folders.read(package / "model")
    assert imported.source.kind == "sentencepiece" and not imported.origin


def other_model():
    """Returns a SentencePiece model of other words."""
    return unigram_model(160, user_defined_symbols=",".join(f"piece{i}" for i in range(100)))


def test_a_sentencepiece_model_of_another_model_is_refused_with_numbers(tmp_path):
    package = write_package(tmp_path, model=other_model())
    numbers = r"of the 157 pieces .* and the 157 tokens .*, \d+ are the same \(source\)"
    with pytest.raises(ValueError, match=numbers + r"\. sentencepiece\.model and model do not"):
        read_model(package)
    # Above the inner folder alone, it is a different model's.
    notes = read_model(package / "model", "ctranslate2").notes
    assert any(re.search(rf"is not used: {numbers}", note) for note in notes)


def test_missing_pieces_are_counted(tmp_path):
    notes = read_model(write_package(tmp_path, drop=5)).notes
    assert any("source and target: 5 of the 157 pieces" in note for note in notes), notes


PAIR = {"from_code": "en", "to_code": "de"}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"type": "sbd", **PAIR}, "of the type 'sbd'. Only packages that translate"),
        ({"type": ["translate"], **PAIR}, r"of the type \['translate'\]"),
        ({"from_codes": ["en", "fr"], "to_code": "de", "argos_version": "1"}, "one from_code and"),
        ({"from_code": 7, "to_code": "de"}, "one from_code and one to_code"),
        ({**PAIR, "target_prefix": "__de__"}, r"begin with the token '__de__' \(target_prefix\)"),
        ([], "must hold a JSON object"),
    ],
)
def test_other_packages_are_refused(tmp_path, metadata, message):
    package = write_package(tmp_path, metadata=metadata)
    with pytest.raises(ValueError, match=message):
        argos.read(package)


def test_packages_without_a_part_are_refused(tmp_path):
    package = write_package(tmp_path)
    (package / "sentencepiece.model").rename(package / "bpe.model")
    with pytest.raises(ValueError, match=r"tokenized by Moses .* import .* --format=ctranslate2"):
        read_model(package)
    (package / "bpe.model").unlink()
    with pytest.raises(ValueError, match=r"without sentencepiece\.model"):
        read_model(package)
    (package / "model" / "model.bin").unlink()
    with pytest.raises(ValueError, match="through a third language"):
        read_model(package)
    (package / "metadata.json").write_text("{")
    with pytest.raises(ValueError, match=r"metadata\.json is not a JSON file"):
        read_model(package)
    (package / "metadata.json").unlink()
    with pytest.raises(ValueError, match=r"has no metadata\.json"):
        argos.read(package)


def test_facts_of_other_types_are_not_recorded(tmp_path):
    metadata = METADATA | {"license": 5, "description": "x" * 9999, "from_name": None}
    imported = read_model(write_package(tmp_path, metadata=metadata))
    facts = imported.origin["argos"]
    assert "license" not in facts and len(facts["description"]) == 2000
    assert json.dumps(facts) and imported.notes[0].startswith("en to Portuguese (pt-BR)")


def test_facts_can_be_printed_and_stored(tmp_path):
    metadata = METADATA | {"license": "\x1b[2J\x07MIT", "from_name": "Eng\u2028lish\udfff"}
    imported = read_model(write_package(tmp_path, metadata=metadata))
    assert imported.origin["argos"]["license"] == " [2J MIT"
    assert imported.origin["argos"]["from_name"] == "Eng lish?"
