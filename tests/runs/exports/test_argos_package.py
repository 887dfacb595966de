"""A package gives Argos Translate the pieces, the model and the languages of a run."""

import json
import unicodedata
import zipfile

import ctranslate2
import numpy as np
import pytest
import sentencepiece

from pipelines.atomic_files import read_json, write_json
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.separated_tokens import TokenTokenizer
from t2t_keras.runs import Run
from t2t_keras.runs.importing.import_run import import_run
from t2t_keras.translating.languages import Languages

TEXTS = ["The dog sleeps.", "The cat  saw\ta u\u0308 \u2581 dog.", "A man.", "One dog and one cat."]


def unpacked(path, folder):
    """Unpacks a package as Argos installs it, and returns its folder."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    (package,) = folder.iterdir()
    return package


def scores(package, pairs):
    """Returns log P of each target token, of the pieces that Argos passes to CTranslate2."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(package / "sentencepiece.model"))
    options = {"compute_type": "float32", "intra_threads": 1}
    translator = ctranslate2.Translator(str(package / "model"), **options)
    sides = (pieces.encode(list(texts), out_type=str) for texts in zip(*pairs, strict=True))
    return [result.log_probs for result in translator.score_batch(*sides)]


@pytest.mark.long
def test_argos_computes_with_a_package_what_the_run_does(run, tmp_path):
    options = {"dtype": "float32", "languages": Languages("en", "pt-BR")}
    path = run.export(tmp_path / "toy.argosmodel", "argos", **options)
    assert path == tmp_path / "toy.argosmodel" and [*tmp_path.iterdir()] == [path]
    package = unpacked(path, tmp_path / "packages")
    assert package.name == "translate-en_pb-1_0"
    metadata = json.loads((package / "metadata.json").read_text())
    assert (metadata["from_code"], metadata["from_name"]) == ("en", "English")
    assert (metadata["to_code"], metadata["to_name"]) == ("pb", "Portuguese (BR)")
    assert "11,120 weights in float32" in (package / "README.md").read_text()
    # Padding and begin have no probability in CTranslate2, and so the others a little more.
    pairs = [(text, "mein dog \u00fc mein") for text in TEXTS]
    for ours, theirs in zip(run.score(pairs), scores(package, pairs), strict=True):
        np.testing.assert_allclose(ours.token_log_p, theirs, atol=1e-2)


@pytest.mark.long
def test_the_same_run_gives_the_same_bytes_and_comes_back(run, tmp_path):
    options = {"format": "argos", "languages": Languages("en", "de")}
    paths = [run.export(tmp_path / f"{i}.argosmodel", **options) for i in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    twin = import_run(paths[0], tmp_path / "twin")
    assert twin.run.languages() == Languages("en", "de")
    assert any("in int8" in note for note in twin.model.notes)
    texts = [unicodedata.normalize("NFD", "Füße für\x07 Bären"), *TEXTS]
    encoded = (each.tokenizer().encode(texts) for each in (run, twin.run))
    for ours, theirs in zip(*encoded, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.long
def test_the_package_is_named_after_the_recorded_languages(copied):
    config = read_json(copied.config_file)
    write_json(copied.config_file, config | {"languages": None})
    with pytest.raises(ValueError, match=r"does not record its languages.* --languages=en,de"):
        copied.export(format="argos")
    write_json(copied.config_file, config)
    assert copied.export(format="argos") == copied.folder / "translate-en_de-1_0.argosmodel"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int4"}, "`dtype` must be one of"),
        ({"folder": "model.zip"}, r"--output must name a file that ends in \.argosmodel"),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(run, tmp_path, options, message):
    options = {"folder": tmp_path / "x.argosmodel", "languages": Languages("en", "de"), **options}
    with pytest.raises(ValueError, match=message):
        run.export(format="argos", **options)
    assert not list(tmp_path.iterdir())


def test_tokenizers_and_tags_that_argos_lacks_are_refused(copied, tagged):
    tokens = TokenTokenizer(["<pad>", "<s>", "</s>", "<unk>", *map(str, range(396))])
    save_tokenizer(tokens, copied.folder / "vocabulary")
    with pytest.raises(ValueError, match=r"source has a vocabulary of kind 'tokens'"):
        copied.export(format="argos")
    with pytest.raises(ValueError, match="which puts no tag before a source"):
        Run(tagged, to="de").export(format="argos")
