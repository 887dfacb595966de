import shutil

import pytest

from t2t_keras.runs import Run
from t2t_keras.runs.exports import writers


@pytest.fixture
def empty_exports(monkeypatch):
    """Makes exports empty SavedModels and empty models for LiteRT."""
    make_exports_empty(monkeypatch)


def make_exports_empty(monkeypatch):
    monkeypatch.setattr(
        writers, "save_text_model", lambda folder, *_: (folder / "saved_model.pb").touch()
    )
    monkeypatch.setattr(writers, "save_litert", lambda folder, *_: {})


@pytest.fixture(scope="session")
def exported(toy_run, tmp_path_factory):
    """The folder of the toy run with empty exports."""
    folder = tmp_path_factory.mktemp("exported") / "run"
    run = Run(shutil.copytree(toy_run[1], folder))
    with pytest.MonkeyPatch.context() as patches:
        make_exports_empty(patches)
        run.export()
        run.export(format="litert")
    return folder


@pytest.fixture
def finished(exported, empty_exports, tmp_path):
    """A copy of that run, for a test that changes it."""
    return Run(shutil.copytree(exported, tmp_path / "run"))
