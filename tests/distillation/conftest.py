import pytest
from support.runs.faked_stages import FakedStages

from t2t_keras.distillation import distillation_stages
from t2t_keras.stages import stages


@pytest.fixture
def faked(monkeypatch, run, vocabulary):
    """`FakedStages` in place of the commands. There is nothing to export or to compare."""
    found = FakedStages(run.folder, vocabulary)
    monkeypatch.setattr(stages, "start_command", found.start)
    monkeypatch.setattr(distillation_stages, "export", lambda plan: None)
    monkeypatch.setattr(distillation_stages, "write_report", lambda plan, data: data)
    return found
