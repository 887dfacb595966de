"""All exports inside a run are renewed together; a stale one is named when it is opened."""

import shutil

import pytest
from support.runs.untrained import save_checkpoint

from pipelines.atomic_files import read_json, write_json
from t2t_keras.export import model_code
from t2t_keras.export.formats import LITERT_MODEL, LITERT_RECORD, PORTABLE_MODEL
from t2t_keras.runs import Run
from t2t_keras.runs.exports import engine_exports, exporting
from t2t_keras.runs.exports.exporting import renew
from t2t_keras.runs.exports.freshness import PLACES, records_in, stale, warn_if_stale


@pytest.fixture(autouse=True)
def quick_exports(monkeypatch):
    """Makes exports without graphs and programs; folders for CTranslate2 are complete."""

    def touch(name):
        return lambda folder, *_: (folder / name).touch()

    for module, function, name in (
        (exporting, "save_text_model", "saved_model.pb"),
        (exporting, "save_ids_model", "saved_model.pb"),
        (engine_exports, "save_litert", LITERT_MODEL),
        (engine_exports, "save_portable", PORTABLE_MODEL),
    ):
        monkeypatch.setattr(module, function, touch(name))


def newest(run, name):
    return records_in(run, name)[-1]


def renewed(run, *at_least):
    return {name: path.name for name, path in renew(run, lambda line: None, at_least).items()}


WAYS = {
    "export": {},
    "export_ids": {"ids_only": True},
    "export_litert": {"format": "litert"},
    "export_portable": {"format": "litert", "portable": True},
    "export_ctranslate2": {"format": "ctranslate2"},
}


@pytest.fixture
def exported(copied):
    """A run with an export in each of the `PLACES`, with options."""
    assert WAYS.keys() == PLACES.keys()
    for way in WAYS.values():
        copied.export(**way, beam=3, n_best=2, alpha=0.0)
    copied.export(format="litert", dtype="int8")
    return copied


def test_averaging_makes_every_export_stale_and_renewing_repeats_each_with_its_options(exported):
    assert renewed(exported) == {}, "nothing has changed"
    exported.average(last=2)
    own = {"export_litert": "4", "export_ctranslate2": "export_ctranslate2"}  # float32 and int8
    assert renewed(exported) == dict.fromkeys(PLACES, "2") | own
    for name in PLACES:
        record = newest(exported, name)
        assert record["weights"]["steps"] == [4, 6] and not stale(exported, record)
    for record in records_in(exported, "export_litert")[2:4]:
        search = {"float32": (3, 2, 0.0), "int8": (4, 4, 0.6)}[record["dtype"]]
        assert tuple(record["search"][name] for name in ("beam", "n_best", "alpha")) == search
    assert newest(exported, "export")["search"]["beam"] == 3
    at_least = ("export", "export_litert")
    assert renewed(exported, *at_least) == {"export": "3", "export_litert": "5"}
    assert newest(exported, "export")["search"]["beam"] == 4, "the run's own search"
    assert renewed(exported, *at_least) == {}


@pytest.mark.long
def test_named_weights_are_renewed_as_long_as_they_exist(copied):
    copied.export(weights="4")
    copied.export(weights="averaged")
    copied.average(last=2)
    assert renewed(copied) == {"export": "3"}, "the averaged ones have changed"
    assert renewed(copied, "export", "export_litert") == {"export": "4", "export_litert": "1"}
    assert renewed(copied, "export", "export_litert") == {}, "they are there now"
    copied.checkpoints.path(4).unlink()
    assert renewed(copied) == {}, "nothing replaces a checkpoint"


@pytest.mark.long
def test_every_tag_of_a_run_is_renewed(tagged, tmp_path):
    run, lines = Run(shutil.copytree(tagged, tmp_path / "run")), []
    assert renew(run, lines.append, ["export"]) == {} and "choose --to" in lines[0]
    for to in ("de", "fr"):
        Run(run.folder, to=to).export()
    save_checkpoint(run, 2)
    run.average(last=1)
    assert renewed(run, "export") == {"export": "4"}
    assert [each["tag"] for each in records_in(run, "export")] == ["<2de>", "<2fr>"] * 2


def test_a_changed_search_or_formula_makes_exports_stale(exported, monkeypatch, caplog):
    settings = read_json(exported.config_file)
    settings["experiment"]["search"]["alpha"] = 0.9
    write_json(exported.config_file, settings)
    assert set(renewed(exported)) == set(PLACES)
    search = newest(exported, "export")["search"]
    assert (search["alpha"], search["beam"]) == (0.0, 3), "an export's own search stays"
    warn_if_stale(exported.folder / "export" / "2")
    assert not caplog.text
    sha256 = model_code.sha256

    def edited(path):
        return "edited" if path.name == "scaled_dot_product.py" else sha256(path)

    monkeypatch.setattr(model_code, "sha256", edited)
    for name in ("export/2", "export_ids/2", "export_ctranslate2"):
        caplog.clear()
        warn_if_stale(exported.folder / name)
        reason = "changed since: t2t_keras/layers/scaled_dot_product.py. t2t-export"
        assert f"{reason} {exported.folder} --renew exports it again" in caplog.text
    assert set(renewed(exported)) == set(PLACES)
    assert renewed(exported) == {}


def test_a_reason_for_not_exporting_is_shown_once(copied, monkeypatch):
    def fail(*arguments):
        raise ValueError("this MoE cannot be exported for LiteRT: LiteRT has no UpperBound")

    monkeypatch.setattr(engine_exports, "save_litert", fail)
    lines = []
    assert renew(copied, lines.append, ["export_litert"]) == {}
    (line,) = lines
    assert line.startswith("Not exported as a model for LiteRT") and line.endswith("no UpperBound")


def test_a_damaged_record_stops_neither_renewing_nor_opening(copied):
    version = copied.export(format="litert")
    for damage in (b"{", b"[]"):
        (version / LITERT_RECORD).write_bytes(damage)
        warn_if_stale(version)
    assert renewed(copied, "export_litert") == {"export_litert": "2"}
