"""A run translates with LiteRT if an export belongs to its weights and its search."""

import json
from types import SimpleNamespace

import pytest

from pipelines.atomic_files import read_json, write_json
from t2t_keras.export.formats import LITERT_MODEL
from t2t_keras.runs import Run
from t2t_keras.runs.exports import fitting as fitting_module
from t2t_keras.runs.exports.fitting import NoExport, fitting, has_gpu
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating.engines import litert
from t2t_keras.translating.engines.litert import LiteRTEngine
from t2t_keras.translating.engines.model import ModelEngine
from t2t_keras.translating.exports import RECORD

LAYOUT = {"caches": {}, "kept": None, "attention": {"cross": [2, 4]}}
MODEL_WITH_STEPS = SimpleNamespace(has_step=lambda beams: True)


@pytest.fixture(autouse=True)
def quick_exports(monkeypatch):
    """Makes models for LiteRT without programs, and hides this machine's GPU."""
    monkeypatch.setattr("t2t_keras.runs.exports.writers.save_litert", written)
    monkeypatch.setattr(litert, "loaded_models", lambda *_: [MODEL_WITH_STEPS])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def written(folder, *_):
    (folder / LITERT_MODEL).write_bytes(b"flatbuffer")
    return LAYOUT


def fits(run, dtype="float32", weights=None):
    """Returns the number of the version that fits, or the reason why none does."""
    try:
        return int(fitting(RunFolder(run.folder), "litert", dtype, weights).name)
    except NoExport as error:
        return str(error)


def opened(run, engine="auto", dtype=None, weights=None, method=None):
    arguments = RunFolder(run.folder), engine, dtype, weights, lambda: "TensorFlow", method
    return fitting_module.fastest_engine(*arguments)


def test_the_newest_export_of_these_weights_this_search_and_this_type_fits(copied):
    assert "has no export in float32 of the run's present weights and settings." in fits(copied)
    copied.export(format="litert", dtype="int8")
    copied.export(format="litert")
    copied.export(format="litert")
    copied.export(format="litert", alpha=1.0)
    copied.export(format="litert", weights="2")
    assert (fits(copied), fits(copied, "int8"), fits(copied, weights="2")) == (3, 1, 5)
    assert "no export" in fits(copied, weights="4")
    copied.average(last=2)
    assert "no export" in fits(copied)


def test_all_that_translations_depend_on_must_be_that_of_the_export(copied):
    copied.export(format="litert", n_best=2)
    assert fits(copied) == 1, "the number of results may differ"
    settings = read_json(copied.config_file)
    experiment = settings["experiment"]

    def changed(part, **values):
        return {"experiment": experiment | {part: experiment[part] | values}}

    write_json(copied.config_file, settings | changed("search", alpha=0.9))
    assert "no export" in fits(copied)
    for entries in (
        changed("model", activation="gelu"),
        {"tags": ["<2de>"]},
        {"preparation": {"leaves": ["XX", True]}},
    ):
        write_json(copied.config_file, settings | entries)
        assert "no export" in fits(copied)
    write_json(copied.config_file, settings)
    (copied.folder / "vocabulary" / "another").touch()
    assert "no export" in fits(copied)


def test_tensorflow_is_the_choice_for_a_reason(copied, monkeypatch, caplog):
    def reason(*options):
        caplog.clear()
        assert opened(copied, *options) == "TensorFlow"
        return caplog.text

    assert "TensorFlow translates, which takes longer: " in reason() and "no export" in caplog.text
    copied.export(format="litert")
    assert reason("tensorflow") == ""
    assert "--weights=2 writes one" in reason("auto", None, "2")
    monkeypatch.setattr(fitting_module, "has_gpu", lambda: True)
    assert reason() == "", "who wants TensorFlow, or has a GPU for it, is told nothing"
    assert type(opened(copied, "litert")) is LiteRTEngine, "but who asks for it gets it"


def test_an_engine_has_the_search_methods_and_the_alignment_of_the_run(copied, monkeypatch):
    copied.export(format="litert")
    methods = []
    monkeypatch.setattr(fitting_module, "load_method", lambda folder, name: methods.append(name))
    (copied.folder / "alignment.json").write_text(json.dumps({"head": {"layer": 1, "head": 3}}))
    engine = opened(copied, method="short")
    assert methods == ["beam", "short"]
    assert (engine.alignment.layer, engine.alignment.head) == (1, 3)


def test_a_damaged_export_is_reported_and_tensorflow_used(copied, caplog):
    (copied.export(format="litert") / LITERT_MODEL).write_bytes(b"other")
    assert opened(copied) == "TensorFlow" and caplog.records[-1].levelname == "WARNING"
    assert "does not match its SHA-256" in caplog.text
    with pytest.raises(ValueError, match="does not match its SHA-256"):
        opened(copied, "litert")


def test_an_export_with_a_wrong_record_fits_nothing_and_harms_no_other(copied):
    record = copied.export(format="litert") / RECORD
    for contents in ("{}", '{"dtype": "float32"}', "{"):
        record.write_text(contents)
        assert "no export" in fits(copied)
    copied.export(format="litert")
    assert fits(copied) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("litert",), "has no export in float32 of .* t2t-export .* --format=litert"),
        (("ctranslate2",), "--format=ctranslate2 --dtype=float32 writes one"),
        (("tensorflow", "int8"), "--engine=tensorflow computes with weights in float32"),
        (("litert", "float16"), "`dtype` must be one of 'float32', 'int8'"),
        (("lite",), "`engine` must be one of .*did you mean 'litert'"),
    ],
)
def test_what_is_asked_for_and_missing_is_an_error(copied, options, message):
    with pytest.raises(ValueError, match=message):
        opened(copied, *options)


def test_python_prefers_litert_and_keeps_tensorflow_for_the_rest(copied):
    assert type(copied.translator().engine) is ModelEngine
    copied.export(format="litert")
    run = Run(copied.folder)
    engine = run.translator().engine
    assert type(engine) is LiteRTEngine and engine.substitute is not None
    assert (engine.name, engine.dtype) == (run.folder, "float32")
    assert type(run.translator(engine="tensorflow").engine) is ModelEngine
    assert run.translator(engine="litert").engine.substitute is None
    assert type(run.translator(beam=2).engine) is ModelEngine
    assert engine.engine_for(engine.config, False, False) is engine
    wide = engine.config.changed(beam=8)
    assert engine.engine_for(wide, False, False).model is run.engine().model


def test_a_gpu_is_one_that_tensorflow_may_see(monkeypatch):
    devices = ["/dev/nvidia0"]
    monkeypatch.setattr(fitting_module.glob, "glob", lambda pattern: devices)
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert not has_gpu()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert has_gpu()
    devices.clear()
    assert not has_gpu()
