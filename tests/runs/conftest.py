import shutil

import pytest
from untrained import save_checkpoint, toy_tokenizer, untrained_run

from t2t_keras.runs import Run


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory):
    """The folder of a vocabulary of 400 pieces."""
    folder = tmp_path_factory.mktemp("vocabulary")
    toy_tokenizer(folder)
    return folder


@pytest.fixture(scope="session")
def new_run(vocabulary):
    """A function that creates an untrained run in a folder."""

    def create(folder, **settings):
        return untrained_run(folder, vocabulary, toy_tokenizer(vocabulary), **settings)

    return create


@pytest.fixture(scope="session")
def run(new_run, tmp_path_factory):
    """An untrained run, which no test changes. Its translators are kept from test to test."""
    return new_run(tmp_path_factory.mktemp("runs") / "toy", end=4.0)


@pytest.fixture(scope="session")
def learned_positions(new_run, tmp_path_factory):
    """An untrained run with learned positions for 40 tokens, which no test changes."""
    folder = tmp_path_factory.mktemp("runs") / "learned"
    return new_run(folder, positions="learned", max_length=40)


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
