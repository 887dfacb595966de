import json
import os

import numpy as np
import pytest
from helpers import tiny_model

from t2t_keras import LabelSmoothedCrossEntropy
from t2t_keras.training.adam import Adam
from t2t_keras.training.checkpoints import (
    Checkpoints,
    DamagedCheckpoint,
    average,
    restore,
    state_of,
)


def compiled(**settings):
    model = tiny_model(**settings)
    model.compile(Adam(1e-2), LabelSmoothedCrossEntropy())
    model.optimizer.build(model.trainable_variables)
    return model


def saved(folder, steps, keep=5):
    checkpoints = Checkpoints(folder, keep)
    for step in steps:
        state = {"model/0000": np.full((64, 64), step, "float32"), "optimizer/0": np.ones(1)}
        checkpoints.save(step, state, {"tokens": 10 * step})
    return checkpoints


def test_what_is_saved_is_loaded(tmp_path):
    state, notes = saved(tmp_path, [3]).load(3)
    np.testing.assert_array_equal(state["model/0000"], np.full((64, 64), 3, "float32"))
    assert notes == {"tokens": 30, "step": 3}


def test_the_newest_and_the_best_are_kept(tmp_path):
    checkpoints = saved(tmp_path, [1, 2], keep=2)
    checkpoints.note_best(1)
    assert saved(tmp_path, [3, 4, 5], keep=2).steps() == [1, 4, 5]
    assert checkpoints.best() == 1


def test_a_damaged_newest_one_falls_back_and_says_so(tmp_path):
    checkpoints, said = saved(tmp_path, [1, 2, 3]), []
    whole = checkpoints.path(3).read_bytes()
    checkpoints.path(3).write_bytes(whole[: len(whole) // 2])
    contents = bytearray(checkpoints.path(2).read_bytes())
    contents[len(contents) // 3] ^= 255  # one byte of the arrays: the file's structure is whole
    checkpoints.path(2).write_bytes(contents)
    _, notes = checkpoints.load_newest(said.append)
    assert notes["step"] == 1
    assert len(said) == 2 and "step-00000003.npz is damaged" in said[0]
    checkpoints.path(1).write_bytes(b"")
    with pytest.raises(DamagedCheckpoint, match=r"None of the 3 checkpoints .* can be read"):
        checkpoints.load_newest(said.append)
    assert Checkpoints(tmp_path / "none").load_newest(said.append) is None


def test_a_full_disk_leaves_the_older_one(tmp_path, monkeypatch):
    checkpoints = saved(tmp_path, [1])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"step 2 could not be written .*that of step 1: make room"):
        saved(tmp_path, [2])
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001.npz"]
    assert checkpoints.load(1)[1]["step"] == 1


def test_a_models_state_comes_back_to_the_bit():
    model, other = compiled(), compiled()
    ids = np.array([[4, 5, 6, 2]])
    model.fit({"source": ids, "target": ids}, ids, epochs=3, verbose=0)
    restore(other, state_of(model))
    for ours, theirs in zip(model.variables, other.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    for ours, theirs in zip(model.optimizer.variables, other.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    assert int(other.optimizer.iterations) == 3


def test_another_models_state_is_refused_and_changes_nothing():
    model, wider = compiled(), compiled(d_ff=24)
    before = state_of(model)
    with pytest.raises(
        ValueError, match=r"has the shape .* in the checkpoint: it is that of another"
    ):
        restore(model, state_of(wider))
    for name, array in state_of(model).items():
        np.testing.assert_array_equal(array, before[name])
    state = state_of(model)
    state.pop(next(iter(state)))
    with pytest.raises(ValueError, match="The checkpoint has no model/0000"):
        restore(model, state)


def test_the_average_is_the_mean_of_the_last_weights(tmp_path):
    weights, steps = average(saved(tmp_path, [1, 2, 4, 7]), 3)
    assert steps == [2, 4, 7]
    assert list(weights) == ["model/0000"]
    np.testing.assert_allclose(weights["model/0000"], np.full((64, 64), 13 / 3))
    with pytest.raises(ValueError, match=r"has 4 checkpoints. Received: last=5. Average fewer"):
        average(Checkpoints(tmp_path), 5)


def test_the_best_is_noted_whole_or_not_at_all(tmp_path):
    checkpoints = saved(tmp_path, [1])
    assert checkpoints.best() is None
    checkpoints.note_best(1)
    assert json.loads((tmp_path / "best.json").read_text()) == {"step": 1}
    assert not (tmp_path / "best.unfinished").exists()
