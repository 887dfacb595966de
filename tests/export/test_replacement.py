"""A process that is killed while it replaces a folder loses neither the old one nor the new one."""

from pathlib import Path

import pytest

from t2t_keras.export import replacement
from t2t_keras.export.replacement import replace_folder, restore
from t2t_keras.translating.engines.ctranslate2 import is_ctranslate2


class Killed(BaseException):
    """Ends the replacement, which cleans nothing up."""


@pytest.fixture
def folders(tmp_path):
    """The new folder and the one that it replaces. The file model.bin of each tells them apart."""
    for name in ("new", "model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.bin").write_text(name)
    return tmp_path / "new", tmp_path / "model"


def kill_at(monkeypatch, step):
    """Lets the process die before its rename or deletion of this index."""
    done = []

    def dies(change):
        def changed(*arguments, **options):
            done.append(change)
            if len(done) > step:
                raise Killed
            return change(*arguments, **options)

        return changed

    monkeypatch.setattr(Path, "rename", dies(Path.rename))
    monkeypatch.setattr(replacement.shutil, "rmtree", dies(replacement.shutil.rmtree))


@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_killed_replacement_leaves_a_model_for_the_next_use(
    folders, monkeypatch, can_exchange, step
):
    new, folder = folders
    if not can_exchange:
        monkeypatch.setattr(replacement, "exchanged", lambda one, other: False)
    with monkeypatch.context() as patch, pytest.raises((Killed, AssertionError)):
        kill_at(patch, step)
        replace_folder(new, folder)
        raise AssertionError("it has fewer steps")
    assert is_ctranslate2(folder)
    assert (folder / "model.bin").read_text() in ("new", "model")


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_replaced_folder_leaves_nothing_behind(folders, monkeypatch, can_exchange):
    new, folder = folders
    if not can_exchange:
        monkeypatch.setattr(replacement, "exchanged", lambda one, other: False)
    replace_folder(new, folder)
    assert (folder / "model.bin").read_text() == "new"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_folder_that_a_reader_restores_meanwhile_is_replaced_all_the_same(folders, monkeypatch):
    new, folder = folders
    monkeypatch.setattr(replacement, "exchanged", lambda one, other: False)
    rename, restored = Path.rename, []

    def renamed(path, target):
        if path == new and not restored:
            restored.append(restore(folder))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)
    replace_folder(new, folder)
    assert restored and (folder / "model.bin").read_text() == "new"


@pytest.mark.parametrize("path", [".", "/", "absent/.."])
def test_nothing_is_restored_where_nothing_was_replaced(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_ctranslate2(path)
    assert not list(tmp_path.iterdir())
