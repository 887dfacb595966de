import shutil

import pytest
from support.runs.untrained import save_checkpoint

from t2t_keras.runs import Run


@pytest.fixture(scope="session")
def with_checkpoints(run, tmp_path_factory):
    """A run with checkpoints of steps 2, 4 (the best) and 6. No test changes it."""
    copy = Run(tmp_path_factory.mktemp("runs") / "checkpoints")
    shutil.copytree(run.folder, copy.folder)
    for step in (2, 4, 6):
        save_checkpoint(copy, step, best_step=4)
    return copy


@pytest.fixture
def copied(with_checkpoints, tmp_path):
    """A copy of the run with checkpoints, for a test that changes it."""
    shutil.copytree(with_checkpoints.folder, tmp_path / "run")
    return Run(tmp_path / "run")
