import shutil

import pytest
from support.runs.untrained import save_checkpoint, untrained_run

from pipelines.atomic_files import read_json, write_json
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.toy.grammar import pairs
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


@pytest.fixture(scope="session")
def tagged(tmp_path_factory):
    """The folder of an untrained run with the tags <2de> and <2fr>. No test changes it."""
    folder = tmp_path_factory.mktemp("tagged")
    texts = [text for pair in pairs(200) for text in pair]
    tokenizer = learn(texts, VocabularyConfig(size=400, tags=("<2de>", "<2fr>")))
    save_tokenizer(tokenizer, folder / "vocabulary")
    run = untrained_run(folder / "run", folder / "vocabulary", tokenizer, end=4.0)
    write_json(run.config_file, read_json(run.config_file) | {"tags": ["<2de>", "<2fr>"]})
    return run.folder
