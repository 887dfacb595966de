"""An imported model is a run that translates, scores and is exported like any other."""

import dataclasses
import shutil
import tracemalloc
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
from support.importing.argos_package import METADATA, write_package
from support.importing.ctranslate2_folder import random_model, write_folder
from support.importing.random_marian import write_random_marian
from support.processes.accidents import contents
from support.processes.commands import command
from support.runs.untrained import QUICK, toy_tokenizer, untrained_run

from pipelines.atomic_files import read_json
from pipelines.tokenizers import SeparateTokenizers
from t2t_keras.importing.formats import read_model
from t2t_keras.runs import Run
from t2t_keras.runs.importing.import_run import Arrays, import_run

TEXTS = ["a b c d", "g f e d c", "", "a", "a x\u0301 b"]


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


def theirs(folder, texts, **options):
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    known = set("abcdefg")
    tokens = [[t if t in known else "<unk>" for t in text.split()] for text in texts]
    options = {"beam_size": 1, "max_decoding_length": 12, "min_decoding_length": 0, **options}
    results = translator.translate_batch(tokens, return_scores=True, **options)
    return [" ".join(result.hypotheses[0]) for result in results]


@pytest.mark.long
def test_greedy_translations_are_those_of_ctranslate2(imported, folder):
    texts = [text for text in TEXTS if text]
    ours = []
    for text in texts:  # one limit for all: the length of the source plus `extra_length`
        extra = 12 - len(text.split()) - 1
        ours += imported.run.translate([text], beam=1, extra_length=extra)
    expected = [text.replace("<unk>", "⁇") for text in theirs(folder, texts)]
    assert ours == expected and len(set(ours)) > 2


@pytest.mark.long
def test_scores_are_those_of_ctranslate2(imported, folder):
    pairs = [("a b c", "a b"), ("g f e d c", "d c b a"), ("a", "e")]
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    sides = ([side.split() for side in each] for each in zip(*pairs, strict=True))
    expected = [result.log_probs for result in translator.score_batch(*sides)]
    for score, log_probs in zip(imported.run.score(pairs), expected, strict=True):
        np.testing.assert_allclose(score.token_log_p, log_probs, rtol=1e-4, atol=1e-4)


def test_the_run_has_the_weights_and_a_vocabulary_for_each_language(imported):
    run = imported.run
    assert isinstance(run.tokenizer(), SeparateTokenizers)
    assert (run.tokenizer().source.size, run.tokenizer().target.size) == (11, 9)
    assert run.default_weights() == "0" and run.weights_steps() == [0]
    assert imported.weights == sum(w.shape.num_elements() for w in run.model().trainable_weights)
    config = read_json(run.config_file)
    assert config["imported"].startswith("CTranslate2, version 2")
    assert config["command"][0] == "t2t-import"


@pytest.mark.long
def test_its_export_translates_and_scores_like_the_run(imported):
    run = imported.run
    version = run.export(beam=1, extra_length=3)
    result = command("translate", version, stdin="".join(f"{text}\n" for text in TEXTS))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[:-1] == run.translate(TEXTS, **QUICK)


@pytest.mark.long
def test_an_export_to_ctranslate2_and_its_import_are_the_same_run(imported, tmp_path):
    """Bit for bit, but for padding and begin, which are never written."""
    for source in (imported.run, toy_run(tmp_path)):
        exported = source.export(tmp_path / f"{source.folder.name}-ct2", format="ctranslate2")
        twin = import_run(exported, tmp_path / f"{source.folder.name}-twin").run
        sides = zip(
            (source.tokenizer().source, source.tokenizer().target),
            (twin.tokenizer().source, twin.tokenizer().target),
            strict=True,
        )
        for ours, others in sides:
            assert ours.files() == others.files() and ours.normalization == others.normalization
        models = source.model(), twin.model()
        ours, others = (
            {weight.path.split("/", 1)[1]: weight.numpy() for weight in model.trainable_weights}
            for model in models
        )
        assert len(ours) > 20
        for path, array in ours.items():
            if "matrix" in path or path.endswith("embedding/bias"):
                array, others[path] = array[2:], others[path][2:]
            if "positions" not in path:
                np.testing.assert_array_equal(others[path], array, err_msg=path)


@pytest.mark.long
def test_begin_before_the_source_is_part_of_an_export_to_ctranslate2(folder, tmp_path):
    run = import_run(folder, tmp_path / "run", source_begin=True).run
    exported = run.export(tmp_path / "exported", format="ctranslate2")
    assert read_json(exported / "config.json")["add_source_bos"] is True
    pairs = [("a b c", "a b"), ("g f", "d c b a")]
    sides = ([side.split() for side in each] for each in zip(*pairs, strict=True))
    scored = ctranslate2.Translator(str(exported), intra_threads=1).score_batch(*sides)
    for score, result in zip(run.score(pairs), scored, strict=True):
        np.testing.assert_allclose(score.token_log_p, result.log_probs, rtol=1e-4, atol=1e-4)
    twin = import_run(exported, tmp_path / "twin").run
    assert twin.tokenizer().source.begin and not twin.tokenizer().target.begin
    with pytest.raises(ValueError, match=r"is an export of this package.* Leave out --source_end"):
        read_model(exported, source_end=True)


def toy_run(folder):
    tokenizer = toy_tokenizer(folder / "vocabulary")
    return untrained_run(folder / "toy", folder / "vocabulary", tokenizer)


def test_an_imported_run_is_not_trained_in_its_place(imported, toy_data):
    before = sorted(imported.run.folder.rglob("*"))
    result = command("train", f"--run={imported.run.folder}", f"--data={toy_data[1]}")
    assert result.returncode == 2
    assert "holds an imported model (CTranslate2" in result.stderr.splitlines()[-1]
    assert sorted(imported.run.folder.rglob("*")) == before


def test_the_command_says_what_it_found_and_what_to_type_next(folder, tmp_path):
    result = command("import_model", folder, f"--run={tmp_path}/run", "--noexport")
    assert result.returncode == 0, result.stderr
    assert "CTranslate2, version 2, revision 2: 2 + 1 layers, d_model 16" in result.stdout
    assert "source: 11 pieces" in result.stdout and "target: 9 pieces" in result.stdout
    assert result.stdout.splitlines()[-1].endswith(f"t2t-translate {tmp_path}/run")
    assert Run(tmp_path / "run").translate(["a b"], **QUICK)


def test_a_zip_file_is_imported_like_its_folder(imported, folder, tmp_path):
    path = shutil.make_archive(str(tmp_path / "zipped"), "zip", folder.parent, folder.name)
    command = ["t2t-import", str(folder)]
    found = contents(import_run(path, tmp_path / "run", command=command).run.folder)
    assert found.items() <= contents(imported.run.folder).items() and len(found) > 4


def test_errors_name_the_zip_file_not_the_place_where_it_was_unpacked(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "model" / "source_vocabulary.txt").unlink()
    path = shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "model")
    with pytest.raises(ValueError, match=f"^{path}/model has no vocabulary of the source"):
        import_run(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


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


def leftovers(run):
    """Writes what an import leaves that was killed while it wrote the vocabulary."""
    for name in ("vocabulary.1.unfinished", "checkpoints", "unpacked/model"):
        (run / name).mkdir(parents=True)
    for name in ("config.json.unfinished", ".lock", "checkpoints/step-00000000.npz"):
        (run / name).write_bytes(b"some")


def test_a_killed_import_is_started_again_by_the_same_command(imported, folder, tmp_path):
    leftovers(tmp_path / "run")
    again = import_run(folder, tmp_path / "run", command=["t2t-import", str(folder)]).run
    assert contents(again.folder).items() <= contents(imported.run.folder).items()


@pytest.mark.parametrize("other", ["checkpoints/step-00000008.npz", "config.json", "mine"])
def test_leftovers_beside_other_files_are_not_deleted(folder, tmp_path, other):
    leftovers(tmp_path / "run")
    (tmp_path / "run" / other).write_text("{}")
    before = contents(tmp_path / "run")
    with pytest.raises(ValueError, match=f"exists already, with .*{Path(other).name}"):
        import_run(folder, tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_an_import_that_fails_in_the_middle_leaves_nothing(folder, tmp_path):
    variables = random_model(bias=True, seed=3)
    variables["decoder/layer_norm/gamma"][0] = np.nan
    damaged = write_folder(tmp_path / "damaged", variables)
    with pytest.raises(ValueError, match="The weights of decoder/norm/gamma are not finite"):
        import_run(damaged, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    import_run(folder, tmp_path / "run")


def test_errors_of_a_vocabulary_come_before_anything_is_written(folder, tmp_path, monkeypatch):
    for name in ("source", "target"):

        def changed(*arguments, name=name):
            model = read_model(*arguments)
            pieces = [*getattr(model, name).pieces, "more"]
            setattr(model, name, dataclasses.replace(getattr(model, name), pieces=pieces))
            return model

        monkeypatch.setattr("t2t_keras.runs.importing.import_run.read_model", changed)
        with pytest.raises(
            ValueError, match=f"{folder}: the vocabulary of the {name} has"
        ) as error:
            import_run(folder, tmp_path / "run")
        assert "do not belong together" in str(error.value)
        assert not (tmp_path / "run").exists()


def test_the_largest_matrix_takes_the_memory_of_one_copy_in_float32(tmp_path):
    sizes = {"vocabulary": 3000, "d_model": 256, "d_ff": 64, "heads": 2, "layers": 1}
    imported = read_model(write_random_marian(tmp_path / "model", **sizes))
    arrays = Arrays(imported)
    tracemalloc.start()
    try:
        largest = max(arrays[name].nbytes for name in arrays)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert largest == 3001 * 256 * 4
    assert peak < 1.6 * largest  # and half a copy in float16, from the file


def files(folder, **contents):
    folder.mkdir()
    for name, text in contents.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({}, r"holds no model of a known format .* Its files are: none"),
        ({"a__txt": "", "b__txt": ""}, r"Its files are: a.txt, b.txt"),
        ({"dict__de__txt": ""}, r"a fairseq model. Convert it with CTranslate2's converter"),
        ({"model__pt": ""}, r"ct2-fairseq-converter or ct2-opennmt-py-converter"),
        ({"model__intgemm8__bin": ""}, r"a quantized model of Marian"),
        ({"averaged__weights__h5": ""}, r"is a run of this package already"),
    ],
)
def test_a_folder_without_a_known_model_is_refused(tmp_path, contents, message):
    with pytest.raises(ValueError, match=message):
        read_model(files(tmp_path / "folder", **contents))


def test_mistakes_are_refused(folder, tmp_path, imported):
    for arguments, message in (
        ([tmp_path / "none"], "none does not exist"),
        ([folder, imported.run.folder], r"exists already, with .*config.json"),
        ([folder, folder / "model.bin"], "model.bin is a file. Give the name of a new folder"),
        ([folder, tmp_path / "new", "marain"], "`format` must be one of .*ctranslate2"),
    ):
        with pytest.raises(ValueError, match=message):
            import_run(*(arguments if len(arguments) > 1 else [*arguments, tmp_path / "new"]))
    assert not (tmp_path / "new").exists()
    for arguments, message in (
        ([], "takes one folder or file of another system, or hf:ORG/NAME. Received: none"),
        ([folder], "--run: give the folder of the new run"),
        (
            [folder, f"--run={tmp_path}/new", "--target_space=3"],
            "--target_space is not for models of the format ctranslate2",
        ),
    ):
        result = command("import_model", *arguments)
        assert result.returncode == 2 and message in result.stderr
