"""An imported model is a run like any other."""

import dataclasses
import shutil

import ctranslate2
import numpy as np
import pytest
from support.importing.argos_package import METADATA, write_package
from support.importing.ctranslate2_folder import random_model, write_folder
from support.processes.accidents import contents
from support.processes.in_process import call

from pipelines.atomic_files import read_json
from pipelines.tokenizers import SeparateTokenizers
from t2t_keras.importing.formats import read_model
from t2t_keras.runs.importing.import_run import import_run, tokenizer_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of CTranslate2 whose outputs end after different numbers of tokens."""
    variables = random_model(bias=True, seed=3)
    variables["decoder/projection/weight"][:2] = 0
    variables["decoder/projection/bias"][:2] = -1e4
    variables["decoder/projection/bias"][2] += 1.5
    return write_folder(tmp_path_factory.mktemp("import") / "model", variables)


@pytest.fixture(scope="module")
def imported(folder):
    return import_run(folder, folder.parent / "run", command=["t2t-import", str(folder)])


@pytest.mark.long
def test_greedy_translations_are_those_of_ctranslate2(imported, folder):
    texts = ["a b c d", "g f e d", "d d d g", "a x\u0301 b c"]
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    tokens = [text.replace("x\u0301", "<unk>").split() for text in texts]
    results = translator.translate_batch(tokens, beam_size=1, max_decoding_length=8)
    expected = [" ".join(result.hypotheses[0]).replace("<unk>", "⁇") for result in results]
    found = imported.run.translate(texts, beam=1, extra_length=3)
    assert found == expected and len(set(expected)) > 2


def test_the_run_has_the_weights_and_a_vocabulary_for_each_language(imported):
    run = imported.run
    assert isinstance(run.tokenizer(), SeparateTokenizers)
    assert (run.tokenizer().source.size, run.tokenizer().target.size) == (11, 9)
    assert run.default_weights() == "0" and run.weights_steps() == [0]
    weights = run.model().trainable_weights
    assert imported.weights == sum(weight.shape.num_elements() for weight in weights)
    config = read_json(run.config_file)
    assert config["imported"].startswith("CTranslate2, version 2")
    assert config["command"][0] == "t2t-import"


def test_an_export_to_ctranslate2_keeps_both_tokenizers_and_begin(folder, tmp_path):
    run = import_run(folder, tmp_path / "run", source_begin=True).run
    exported = run.export(tmp_path / "exported", format="ctranslate2")
    assert read_json(exported / "config.json")["add_source_bos"] is True
    twin = import_run(exported, tmp_path / "twin").run
    assert twin.tokenizer().source.begin and not twin.tokenizer().target.begin
    for side in ("source", "target"):
        ours, theirs = getattr(run.tokenizer(), side), getattr(twin.tokenizer(), side)
        assert ours.files() == theirs.files() and ours.normalization == theirs.normalization
    with pytest.raises(ValueError, match=r"is an export of this package.* Leave out --source_end"):
        read_model(exported, source_end=True)


def test_an_export_of_a_run_with_one_tokenizer_comes_back(run, tmp_path):
    model = read_model(run.export(tmp_path / "exported", format="ctranslate2"))
    assert tokenizer_of(model).files() == run.tokenizer().files() and model.search == {}


def test_the_command_says_what_it_found_and_what_to_type_next(folder, tmp_path):
    output = call("import_model", folder, f"--run={tmp_path}/run", "--noexport").stdout
    assert "CTranslate2, version 2, revision 2: 2 + 1 layers, d_model 16" in output
    assert "source: 11 pieces" in output and "target: 9 pieces" in output
    assert output.splitlines()[-1].endswith(f"t2t-translate {tmp_path}/run")


def test_a_zip_file_is_imported_like_its_folder(imported, folder, tmp_path):
    path = shutil.make_archive(str(tmp_path / "zipped"), "zip", folder.parent, folder.name)
    command = ["t2t-import", str(folder)]
    found = contents(import_run(path, tmp_path / "run", command=command).run.folder)
    assert found.items() <= contents(imported.run.folder).items() and len(found) > 4
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "model" / "source_vocabulary.txt").unlink()
    path = shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "model")
    with pytest.raises(ValueError, match=f"^{path}/model has no vocabulary of the source"):
        import_run(path, tmp_path / "other")


def test_an_import_records_languages_and_origin(tmp_path):
    package = write_package(tmp_path)
    run = import_run(package / "model" / "model.bin", tmp_path / "run").run
    assert run.languages() == ("en", "pt-BR")
    assert read_json(run.config_file)["origin"]["argos"]["license"] == "CC0"
    assert run.experiment().search.alpha == 0.2
    package = write_package(tmp_path / "odd", metadata=METADATA | {"to_code": "no language"})
    odd = import_run(package, tmp_path / "odd_run")
    assert odd.run.languages() is None
    assert any("languages are not recorded: a language must" in note for note in odd.model.notes)


def test_an_import_that_fails_in_the_middle_leaves_nothing(tmp_path):
    variables = random_model()
    variables["decoder/layer_norm/gamma"][0] = np.nan
    with pytest.raises(ValueError, match="The weights of decoder/norm/gamma are not finite"):
        import_run(write_folder(tmp_path / "damaged", variables), tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["damaged"]


@pytest.mark.parametrize(
    ("other", "message"),
    [("mine", r"run exists already\. Give"), ("config.json", r"run. Use it \(t2t-export ")],
)
def test_files_of_others_are_not_deleted(folder, tmp_path, other, message):
    path = tmp_path / "run" / other
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(ValueError, match=message):
        import_run(folder, tmp_path / "run")
    assert path.read_text() == "{}"


@pytest.mark.parametrize("side", ["source", "target"])
def test_errors_of_a_vocabulary_precede_anything_written(folder, tmp_path, monkeypatch, side):
    model = read_model(folder)
    longer = dataclasses.replace(getattr(model, side), pieces=[*getattr(model, side).pieces, "x"])
    setattr(model, side, longer)
    monkeypatch.setattr("t2t_keras.runs.importing.import_run.read_model", lambda *_: model)
    message = f"{folder}: the vocabulary of the {side} has .* do not belong together"
    with pytest.raises(ValueError, match=message):
        import_run(folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], r"holds no model of a known format .* Its files are: none"),
        (["dict.de.txt"], r"a fairseq model. Convert it with CTranslate2's converter"),
        (["model.pt"], r"ct2-fairseq-converter or ct2-opennmt-py-converter"),
        (["model.intgemm8.bin"], r"a quantized model of Marian"),
        (["averaged.npz"], r"is a run of this package already"),
    ],
)
def test_a_folder_without_a_known_model_is_refused(tmp_path, names, message):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match=message):
        read_model(tmp_path)
