import pytest

from pipelines.atomic_files import read_json
from t2t_keras.runs.exports import writers
from t2t_keras.translating.engines.model import weights_digest
from t2t_keras.translating.exports import RECORD, newest_in
from t2t_keras.translating.languages import Languages, languages_of

TEXTS = ["The dog sleeps.", "", "The cat sleeps."]


@pytest.fixture
def empty_models(monkeypatch):
    """Makes the export of ids write an empty SavedModel; returns the arguments of each call."""
    calls = []

    def save(folder, *arguments):
        (folder / "saved_model.pb").touch()
        calls.append(arguments)

    monkeypatch.setattr(writers, "save_ids_model", save)
    return calls


def test_each_export_is_the_next_version(run, tmp_path, empty_models):
    (tmp_path / "7").mkdir()
    for version in (8, 9):
        path = run.export(tmp_path, format="ids", dtype="int8", beam=3, alpha=1.0)
        assert path == tmp_path / str(version)
    assert {each.name for each in path.iterdir()} == {"saved_model.pb", "vocabulary", RECORD}
    record = read_json(path / RECORD)
    assert (record["format"], record["dtype"], record["tags"]) == ("ids", "int8", [None])
    search = record["search"]
    assert (search["beam"], search["alpha"], search["n_best"]) == (3, 1.0, 3)
    weights = record["weights"]
    assert (weights["steps"], weights["digest"]) == (None, weights_digest(run.model()))
    _, config, dtype, trees = empty_models[-1]
    assert (config.beam, config.n_best, dtype, trees) == (3, 3, "int8", None)


def test_an_export_that_is_killed_or_fails_leaves_no_version(run, tmp_path, monkeypatch):
    def fail(folder, *arguments):
        (folder / "saved_model.pb").touch()
        raise OSError("no space left")

    monkeypatch.setattr(writers, "save_ids_model", fail)
    for name in ("1.0a1b.unfinished", "notes.unfinished"):
        (tmp_path / name).mkdir()
    with pytest.raises(OSError, match="no space left"):
        run.export(tmp_path, format="ids")
    assert {path.name for path in tmp_path.iterdir()} == {"notes.unfinished"}


def test_exports_are_written_inside_the_run_by_default(copied, empty_models, monkeypatch):
    path = copied.export(format="ids", weights="4")
    assert path == copied.folder / "export_ids" / "1"
    weights = read_json(path / RECORD)["weights"]
    assert (weights["steps"], weights["digest"]) == ([4], weights_digest(copied.model("4")))
    monkeypatch.setattr(writers, "save_text_model", lambda *arguments: None)
    assert copied.export() == copied.folder / "export" / "1"
    folder = copied.export(format="ctranslate2", alpha=1.0)
    assert folder == copied.folder / "export_ctranslate2" / "1"
    record = read_json(folder / RECORD)
    digest, file = weights_digest(copied.model()), copied.averaged.digest()
    assert record["weights"] == {"steps": None, "digest": digest, "file": file}
    assert (record["dtype"], record["search"]["alpha"]) == ("float32", 1.0)
    assert copied.export(format="keras") == copied.folder / "model.keras"
    assert [path.name for path in copied.folder.glob("*.keras")] == ["model.keras"]


@pytest.mark.parametrize(
    ("folder", "options", "message"),
    [
        ("", {"format": "onnx"}, "`format` must be one of 'litert', 'portable', 'ctranslate2'"),
        ("", {"n_best": 9}, r"`n_best` must be at most the beam width"),
        ("", {"weights": "oldest"}, r"no weights 'oldest'"),
        ("", {"method": "sample"}, "cannot sample"),
        ("", {"format": "portable", "constrain": "tree"}, "LiteRT knows no trees"),
        ("", {"licence": "mit"}, "has no option 'licence'. It has: dtype, to, languages"),
        ("", {"dtype": "float16"}, "`dtype` must be one of 'float32', 'bfloat16', 'int8'"),
        ("model.h5", {"format": "keras"}, r"must name a file that ends in .keras"),
    ],
)
def test_wrong_options_are_refused(run, tmp_path, folder, options, message):
    with pytest.raises(ValueError, match=message):
        run.export(tmp_path / folder, **options)
    assert not newest_in(tmp_path) and not (tmp_path / "1").exists()


@pytest.mark.parametrize("form", ["ids", "litert", "ctranslate2"])
def test_an_export_may_state_the_languages(run, tmp_path, empty_models, monkeypatch, form):
    monkeypatch.setattr(writers, "save_litert", lambda *arguments: {})
    monkeypatch.setattr(writers, "save_ctranslate2", lambda *arguments, **options: None)
    for given in (None, Languages("nds", "de")):
        path = run.export(tmp_path / str(given is None), format=form, languages=given)
        assert languages_of(path) == (given or run.languages())
