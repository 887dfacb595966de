import os
from types import SimpleNamespace

import pytest
from support.processes.commands import ROOT
from support.runs.untrained import toy_tokenizer

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.formats import LITERT_MODEL
from t2t_keras.runs.exports import writers
from t2t_keras.translating.engines import litert
from t2t_keras.translating.exports import write_version

LAYOUT = {
    "caches": {"4": {"cache_0": [True, [None, 2, None, 8], "float32"]}},
    "kept": None,
    "attention": {"cross": [1, 2]},
}


@pytest.fixture
def without_backends(tmp_path):
    """Arguments of a process in which neither TensorFlow nor Keras can be imported."""
    for name in ("tensorflow", "keras"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('must not be loaded')\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    return {"env": environment, "cwd": ROOT, "text": True, "capture_output": True}


@pytest.fixture
def unconverted(sharp_run, tmp_path, monkeypatch):
    """The folder of an export for LiteRT that loads in no time, because it has no programs."""

    def write(folder, *_):
        (folder / LITERT_MODEL).write_bytes(b"flatbuffer")
        return LAYOUT

    monkeypatch.setattr(writers, "save_litert", write)
    model = SimpleNamespace(longest=None)
    monkeypatch.setattr(litert, "loaded_models", lambda *_: [model])
    return sharp_run.export(tmp_path / "litert", "litert")


@pytest.fixture
def files(tmp_path):
    """The files of a SavedModel beside its graph and its weights."""
    search = vars(SearchConfig(beam=4, n_best=2, alpha=0.5))
    facts = {"format": "saved_model", "search": search, "split": False, "dtype": "float32"}
    facts |= {"tags": [None], "longest": None, "weights": {}}
    return write_version(
        tmp_path / "toy", lambda folder: toy_tokenizer(folder / "vocabulary") and None, facts
    )
