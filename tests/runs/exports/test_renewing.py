"""All exports inside a run are renewed together; a stale one is named when it is opened."""

import shutil

import pytest
from support.runs.untrained import save_checkpoint

from pipelines.atomic_files import read_json, write_json
from t2t_keras.export.formats import FORMATS, PORTABLE_MODEL
from t2t_keras.runs import Run
from t2t_keras.runs.exports import writers
from t2t_keras.runs.exports.exporting import records_in, renew
from t2t_keras.runs.exports.fitting import stale, warn_if_stale
from t2t_keras.translating.exports import RECORD


@pytest.fixture(autouse=True)
def quick_exports(monkeypatch):
    """Makes exports without graphs and programs; folders for CTranslate2 are complete."""

    def touch(name):
        return lambda folder, *_: (folder / name).touch()

    for module, function, name in (
        (writers, "save_text_model", "saved_model.pb"),
        (writers, "save_ids_model", "saved_model.pb"),
        (writers, "save_portable", PORTABLE_MODEL),
    ):
        monkeypatch.setattr(module, function, touch(name))
    monkeypatch.setattr(writers, "save_litert", lambda folder, *_: {})


def newest(run, name):
    return records_in(run, name)[-1]


def renewed(run, *at_least):
    return {name: path.name for name, path in renew(run, lambda line: None, at_least).items()}


WAYS = [name for name, row in FORMATS.items() if row.has_versions]


@pytest.fixture
def exported(copied):
    """A run with an export in each format with versions, with options."""
    for way in WAYS:
        copied.export(format=way, beam=3, n_best=2, alpha=0.0)
    copied.export(format="litert", dtype="int8")
    return copied


def test_averaging_makes_every_export_stale_and_renewing_repeats_each_with_its_options(exported):
    assert renewed(exported) == {}, "nothing has changed"
    exported.average(last=2)
    assert renewed(exported) == dict.fromkeys(WAYS, "2") | {"litert": "4"}, "float32 and int8"
    for name in WAYS:
        record = newest(exported, name)
        assert record["weights"]["steps"] == [4, 6] and not stale(exported, record)
    for record in records_in(exported, "litert")[2:4]:
        search = {"float32": (3, 2, 0.0), "int8": (4, 4, 0.6)}[record["dtype"]]
        assert tuple(record["search"][name] for name in ("beam", "n_best", "alpha")) == search
    assert newest(exported, "saved_model")["search"]["beam"] == 3
    at_least = ("saved_model", "litert")
    assert renewed(exported, *at_least) == {"saved_model": "3", "litert": "5"}
    assert newest(exported, "saved_model")["search"]["beam"] == 4, "the run's own search"
    assert renewed(exported, *at_least) == {}


@pytest.mark.long
def test_named_weights_are_renewed_as_long_as_they_exist(copied):
    copied.export(weights="4")
    copied.export(weights="averaged")
    copied.average(last=2)
    assert renewed(copied) == {"saved_model": "3"}, "the averaged ones have changed"
    assert renewed(copied, "saved_model", "litert") == {"litert": "1"}, "the SavedModel fits"
    copied.checkpoints.path(4).unlink()
    assert renewed(copied) == {}, "nothing replaces a checkpoint"


@pytest.mark.long
def test_every_tag_of_a_run_is_renewed(tagged, tmp_path):
    run, lines = Run(shutil.copytree(tagged, tmp_path / "run")), []
    assert renew(run, lines.append, ["saved_model"]) == {} and "choose --to" in lines[0]
    for to in ("de", "fr"):
        Run(run.folder, to=to).export()
    save_checkpoint(run, 2)
    run.average(last=1)
    assert renewed(run, "saved_model") == {"saved_model": "4"}
    assert [each["tag"] for each in records_in(run, "saved_model")] == ["<2de>", "<2fr>"] * 2


def test_a_changed_search_makes_exports_stale(exported, caplog):
    settings = read_json(exported.config_file)
    settings["experiment"]["search"]["alpha"] = 0.9
    write_json(exported.config_file, settings)
    for name in ("export", "export_ids", "export_ctranslate2"):
        caplog.clear()
        warn_if_stale(exported.folder / name / "1")
        reason = f"it does not have the present settings of {exported.folder}. t2t-export"
        assert f"{reason} {exported.folder} --renew exports it again" in caplog.text
    assert set(renewed(exported)) == set(WAYS)
    search = newest(exported, "saved_model")["search"]
    assert (search["alpha"], search["beam"]) == (0.0, 3), "an export's own search stays"
    caplog.clear()
    warn_if_stale(exported.folder / "export" / "2")
    assert not caplog.text


def test_a_reason_for_not_exporting_is_shown_once(copied, monkeypatch):
    def fail(*arguments):
        raise ValueError("this MoE cannot be exported for LiteRT: LiteRT has no UpperBound")

    monkeypatch.setattr(writers, "save_litert", fail)
    lines = []
    assert renew(copied, lines.append, ["litert"]) == {}
    (line,) = lines
    assert line.startswith("Not exported as a model for LiteRT") and line.endswith("no UpperBound")


def test_a_damaged_record_stops_neither_renewing_nor_opening(copied):
    version = copied.export(format="litert")
    for damage in (b"{", b"[]"):
        (version / RECORD).write_bytes(damage)
        warn_if_stale(version)
    assert renewed(copied, "litert") == {"litert": "2"}
