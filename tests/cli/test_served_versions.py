"""Which versions t2t-serve serves: of a run, of a folder, for an engine and a type of weights."""

from types import SimpleNamespace

import pytest

from pipelines.atomic_files import write_json
from t2t_keras.cli import served_versions
from t2t_keras.cli.served_versions import find_models, find_versions
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.runs.exports.fitting import NoExport
from t2t_keras.translating.exports import RECORD


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(served_versions.fitting, "has_gpu", lambda: False)


def version(folder, format, dtype="float32", **facts):
    folder.mkdir(parents=True)
    write_json(folder / RECORD, {"format": format, "dtype": dtype} | facts)


def saved_model(folder, dtype="float32"):
    version(folder, "saved_model", dtype)


def litert(folder, dtype="float32"):
    version(folder, "litert", dtype)


def found(folder, *options):
    """Returns the folder and the numbers of the versions that are served."""
    versions = find_versions(folder, *options)[0]()
    (place,) = {path.parent for path in versions.values()}
    return place.relative_to(folder).as_posix(), sorted(versions)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run with exports, whose LiteRT exports all have its weights."""
    folder = tmp_path / "mine"
    saved_model(folder / "export/1")
    saved_model(folder / "export/2")
    litert(folder / "export_litert/2", "int8")
    litert(folder / "export_litert/3")
    write_json(folder / "config.json", {})

    def fitting_versions(run, kind, dtype):
        fit = served_versions.versions_for(kind, dtype, folder / "export_litert")
        if not fit or (folder / "trained on").exists():
            raise NoExport("other weights")
        return fit

    monkeypatch.setattr(served_versions.fitting, "fitting_versions", fitting_versions)
    return folder


def test_a_run_is_served_with_litert_on_a_cpu(run, monkeypatch):
    assert found(run) == ("export_litert", [3])
    assert found(run, "auto", "int8") == ("export_litert", [2])
    assert found(run, "litert") == ("export_litert", [3])
    assert found(run, "tensorflow") == ("export", [1, 2])
    with monkeypatch.context() as patches:
        patches.setattr(served_versions.fitting, "has_gpu", lambda: True)
        assert found(run) == ("export", [1, 2])
        assert found(run, "litert") == ("export_litert", [3])
    with pytest.raises(ValueError, match=r"no export for --engine=ctranslate2: .*--format"):
        find_versions(run, "ctranslate2")


def test_each_model_may_have_a_glossary(run, tmp_path):
    (tmp_path / "terms.tsv").write_text("dog\tHund\n")
    terms = str(tmp_path / "terms.tsv")
    two = [f"a={run}", f"b={run}"]
    found = find_models(two, glossaries=[f"b={terms}"])
    assert [str(each.glossary) for each in found] == ["None", terms]
    (one,) = find_models([str(run)], glossaries=[terms])
    assert str(one.glossary) == terms
    for wrong in ([terms], [f"c={terms}"], [f"a={terms}", f"a={terms}"]):
        with pytest.raises(ValueError, match="--glossary must name one file for a model"):
            find_models(two, glossaries=wrong)
    with pytest.raises(ValueError, match=r"there is no file missing\.tsv"):
        find_models(two, glossaries=["a=missing.tsv"])


def test_a_draft_that_greedy_requests_alone_use_is_a_warning(monkeypatch, caplog):
    monkeypatch.setattr(served_versions, "with_draft", lambda engine, draft: engine)
    for beam in (1, 4):
        engine = SimpleNamespace(name="mine", config=SearchConfig(beam=beam))
        assert served_versions.load_with_draft({"1": engine}.get, "student", "1") is engine
        assert ("used only for requests with beam=1" in caplog.text) == (beam > 1)


def test_the_export_of_a_run_must_be_of_its_weights(run):
    find, _ = find_versions(run)
    (run / "trained on").touch()
    assert found(run) == ("export", [1, 2])
    with pytest.raises(NoExport, match="other weights"):  # a server keeps its version in memory
        find()
    with pytest.raises(NoExport, match="other weights"):
        find_versions(run, "litert")


def test_a_folder_of_versions_is_served_as_it_is_or_for_one_engine(tmp_path):
    folder = tmp_path / "mine"
    saved_model(folder / "1")
    litert(folder / "2", "int8")
    saved_model(folder / "3", "int8")
    assert found(folder) == (".", [1, 2, 3])
    assert found(folder, "litert") == (".", [2])
    assert found(folder, "tensorflow") == (".", [1, 3])
    assert found(folder, "tensorflow", "int8") == (".", [3])
    with pytest.raises(ValueError, match="no export for --engine=litert --dtype=float32"):
        find_versions(folder, "litert", "float32")


def test_what_is_no_folder_of_exports_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        find_versions(tmp_path / "none")
    with pytest.raises(ValueError, match=r"contains no export: .* t2t-export .* writes one"):
        find_versions(tmp_path)
    with pytest.raises(ValueError, match="no export for --engine=ctranslate2"):
        find_versions(tmp_path, "ctranslate2")


def test_models_have_names_and_languages_from_records_runs_or_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("plain", "opus-mt-en-de", "a=b"):
        saved_model(tmp_path / folder / "1")
    version(tmp_path / "run/export/1", "saved_model", languages=["de", "pt-BR"])
    folders = ["plain", "fr-en=plain", "opus-mt-en-de", "own=opus-mt-en-de", "a=b", "run/export"]
    assert [(each.name, each.languages) for each in find_models(folders)] == [
        ("plain", None),
        ("fr-en", ("fr", "en")),
        ("opus-mt-en-de", ("en", "de")),
        ("own", None),
        ("a=b", None),
        ("run", ("de", "pt-BR")),
    ]
    assert find_models(["plain"], "it-is")[0].languages == ("it", "is")
    with pytest.raises(ValueError, match="named en-de translates de to pt-BR, as run"):
        find_models(["en-de=run/export"])
