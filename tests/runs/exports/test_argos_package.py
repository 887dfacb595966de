"""A package gives Argos Translate the pieces, the model and the languages of a run."""

import json
import unicodedata
import zipfile

import ctranslate2
import numpy as np
import pytest
import sentencepiece
from support.importing.argos_package import write_package
from support.models.helpers import array

from pipelines.atomic_files import read_json, write_json
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.separated_tokens import TokenTokenizer
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
    model = str(package / "sentencepiece.model")
    pieces = sentencepiece.SentencePieceProcessor(model_file=model)
    options = {"compute_type": "float32", "intra_threads": 1}
    translator = ctranslate2.Translator(str(package / "model"), **options)
    sides = (pieces.encode(list(texts), out_type=str) for texts in zip(*pairs, strict=True))
    return [result.log_probs for result in translator.score_batch(*sides)]


@pytest.mark.long
def test_argos_computes_with_a_package_what_the_run_does(run, tmp_path):
    path = run.export(tmp_path / "toy.argosmodel", "argos", dtype="float32", languages="en,pt-BR")
    assert path == tmp_path / "toy.argosmodel" and [*tmp_path.iterdir()] == [path]
    package = unpacked(path, tmp_path / "packages")
    assert package.name == "translate-en_pb-1_0"
    metadata = json.loads((package / "metadata.json").read_text())
    assert (metadata["from_code"], metadata["from_name"]) == ("en", "English")
    assert (metadata["to_code"], metadata["to_name"]) == ("pb", "Portuguese (BR)")
    assert metadata["type"] == "translate" and metadata["package_version"] == "1.0"
    assert "11,120 weights in float32" in (package / "README.md").read_text()
    # Padding and begin have no probability in CTranslate2, and so the others a little more.
    pairs = [(text, "mein dog \u00fc mein") for text in TEXTS]
    for ours, theirs in zip(run.score(pairs), scores(package, pairs), strict=True):
        np.testing.assert_allclose(ours.token_log_p, theirs, atol=1e-2)


@pytest.mark.long
def test_the_same_run_gives_the_same_bytes_and_comes_back(run, tmp_path):
    paths = [
        run.export(tmp_path / f"{i}.argosmodel", "argos", languages=("en", "de")) for i in range(2)
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    twin = import_run(paths[0], tmp_path / "twin")
    assert twin.run.languages() == Languages("en", "de")
    assert any("in int8" in note for note in twin.model.notes)
    texts = [unicodedata.normalize("NFD", "Füße für\x07 Bären"), *TEXTS]
    for ours, theirs in zip(
        run.tokenizer().encode(texts), twin.run.tokenizer().encode(texts), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    ours, theirs = (
        {weight.path.split("/", 1)[1]: array(weight) for weight in model.trainable_weights}
        for model in (run.model(), twin.run.model())
    )
    kernels = [path for path in ours if path.endswith("kernel")]
    for path in kernels:
        most = np.abs(ours[path]).max() / 254 + 1e-6
        np.testing.assert_allclose(theirs[path], ours[path], atol=most, rtol=0)
    assert len(kernels) == 16


def test_the_recorded_languages_are_those_of_the_package(copied):
    config = read_json(copied.config_file)
    write_json(copied.config_file, config | {"languages": None})
    with pytest.raises(ValueError, match=r"does not record its languages.* --languages=en,de"):
        copied.export(format="argos")
    write_json(copied.config_file, config)
    killed = copied.folder / "translate-en_de-1_0.argosmodel.parts.unfinished"
    (killed / "model").mkdir(parents=True)
    path = copied.export(format="argos")
    assert path == copied.folder / "translate-en_de-1_0.argosmodel" and not killed.exists()


@pytest.mark.long
def test_an_imported_package_can_be_exported_again(tmp_path):
    """Its SentencePiece model has its own normalization, and stays as it is."""
    package = write_package(tmp_path / "first")
    run = import_run(package, tmp_path / "run").run
    again = unpacked(run.export(format="argos", dtype="float32"), tmp_path / "second")
    models = [each / "sentencepiece.model" for each in (package, again)]
    assert models[0].read_bytes() == models[1].read_bytes()
    assert again.name == package.name
    pairs = [("the dog", "der Hund")]
    np.testing.assert_allclose(*scores(again, pairs), *scores(package, pairs), atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"languages": "en"}, "--languages: two languages must be given by their codes"),
        ({"languages": "en,klingon"}, "--languages: a language must be given by its code"),
        ({"languages": ("en", "d e")}, "--languages: a language must be given by its code"),
        ({"languages": ("en",)}, "--languages: two languages must be given"),
        ({"dtype": "int4"}, "`dtype` must be one of"),
        ({"folder": "model.zip"}, r"--output must name a file that ends in \.argosmodel"),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(run, tmp_path, options, message):
    options = {"folder": tmp_path / "x.argosmodel", "languages": "en,de", **options}
    with pytest.raises(ValueError, match=message):
        run.export(format="argos", **options)
    assert not list(tmp_path.iterdir())


def test_tokenizers_that_argos_lacks_are_refused(new_run, tmp_path):
    run = new_run(tmp_path / "run")
    tokens = TokenTokenizer(["<pad>", "<s>", "</s>", "<unk>", *map(str, range(396))])
    save_tokenizer(tokens, tmp_path / "run" / "vocabulary")
    with pytest.raises(ValueError, match=r"source has a vocabulary of kind 'tokens'"):
        run.export(format="argos", languages="en,de")
