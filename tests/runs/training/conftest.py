import pytest

from t2t_keras.runs.exports import engine_exports, exporting


@pytest.fixture
def empty_exports(monkeypatch):
    """Makes exports empty SavedModels and empty models for LiteRT."""
    monkeypatch.setattr(
        exporting, "save_text_model", lambda folder, *_: (folder / "saved_model.pb").touch()
    )
    monkeypatch.setattr(engine_exports, "save_litert", lambda folder, *_: {})
