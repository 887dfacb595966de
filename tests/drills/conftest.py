import pytest
from support.runs.trained_run import TEXTS, train


@pytest.fixture
def outside(tmp_path):
    """A folder that no command may change."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("a secret")
    (folder / "step-00000002.npz").write_text("another run's")
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A folder with a small test set."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "en").write_text(TEXTS)
    (folder / "de").write_text("Der Hund schläft.\nZwei Katzen sahen ein großes Haus.\n\n")
    return folder


@pytest.fixture(scope="module")
def trained(toy_data, texts, tmp_path_factory):
    """A run with checkpoints of steps 2, 4 and 6, averaged weights and an export."""
    run = tmp_path_factory.mktemp("trained") / "run"
    result = train(run, toy_data[1], texts, 6)
    assert result.returncode == 0, result.stderr
    return run
