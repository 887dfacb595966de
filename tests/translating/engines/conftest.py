import os

import pytest
from support.processes.commands import ROOT


@pytest.fixture
def without_backends(tmp_path):
    """Arguments of a process in which neither TensorFlow nor Keras can be imported."""
    for name in ("tensorflow", "keras"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('must not be loaded')\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    return {"env": environment, "cwd": ROOT, "text": True, "capture_output": True}
