import io
import os
import zipfile

import numpy as np
import pytest
from keras import ops
from support.models.helpers import tiny_model

from t2t_keras import LabelSmoothedCrossEntropy
from t2t_keras.training.adam import Adam
from t2t_keras.training.checkpoints import (
    Checkpoints,
    DamagedCheckpoint,
    average,
    restore,
    state_of,
)


def compiled_model(**settings):
    model = tiny_model(num_layers=1, **settings)
    model.compile(Adam(1e-2), LabelSmoothedCrossEntropy())
    model.optimizer.build(model.trainable_variables)
    return model


def saved(folder, steps, keep=5, on_schedule=True, **notes):
    """Saves a checkpoint for each step; every weight is the step."""
    checkpoints = Checkpoints(folder, keep)
    for step in steps:
        state = {"model/0000": np.full((64, 64), step, "float32"), "optimizer/0": np.ones(1)}
        checkpoints.save(step, state, {"tokens": 10 * step, **notes}, on_schedule)
    return checkpoints


def test_a_saved_checkpoint_is_loaded(tmp_path):
    state, notes = saved(tmp_path, [3]).load(3)
    np.testing.assert_array_equal(state["model/0000"], np.full((64, 64), 3, "float32"))
    expected = {"tokens": 30, "step": 3, "previous": None, "keep": 5}
    expected["shapes"] = {"model/0000": [64, 64], "optimizer/0": [1]}
    assert notes == expected | {"on_schedule": True}


def test_the_newest_and_the_best_are_kept(tmp_path):
    checkpoints = saved(tmp_path, [1, 2], keep=2, best_step=1)
    assert saved(tmp_path, [3, 4, 5], keep=2, best_step=1).steps() == [1, 4, 5]
    assert checkpoints.best() == 1


def test_the_newest_readable_checkpoint_notes_which_one_is_the_best(tmp_path):
    checkpoints = saved(tmp_path, [1, 2], best_step=2)
    assert saved(tmp_path, [3], best_step=3).best() == 3
    checkpoints.path(3).write_bytes(b"")
    assert checkpoints.best() == 2
    checkpoints.path(2).unlink()
    assert checkpoints.best() is None
    assert Checkpoints(tmp_path / "none").load_newest(pytest.fail) is None


def test_old_checkpoints_are_deleted_after_an_interrupted_save(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "delete_old", lambda checkpoints: None)
        saved(tmp_path, [1, 2, 3, 4], keep=2, best_step=1)
    checkpoints = Checkpoints(tmp_path, keep=9)
    checkpoints.delete_old()
    assert checkpoints.steps() == [1, 3, 4]


def test_checkpoints_of_later_steps_are_set_aside(tmp_path):
    checkpoints = saved(tmp_path, [1, 2, 3])
    checkpoints.set_aside_after(2)
    assert checkpoints.steps() == [1, 2]
    assert (tmp_path / "step-00000003.damaged").exists()


def test_a_checkpoint_that_is_not_finite_is_skipped(tmp_path):
    checkpoints, warnings = saved(tmp_path, [1]), []
    for step, value in ((2, np.nan), (3, np.inf)):
        checkpoints.save(step, {"model/0000": np.array([1.0, value])}, {})
    _, notes = checkpoints.load_newest(warnings.append)
    assert notes["step"] == 1
    assert len(warnings) == 2 and "model/0000 has infinite or NaN elements" in warnings[0]


def test_damaged_checkpoints_are_skipped_with_a_warning(tmp_path):
    checkpoints, warnings = saved(tmp_path, [1, 2, 3]), []
    whole = checkpoints.path(3).read_bytes()
    checkpoints.path(3).write_bytes(whole[: len(whole) // 2])
    contents = bytearray(checkpoints.path(2).read_bytes())
    contents[len(contents) // 3] ^= 255  # a byte of an array: the ZIP structure stays intact
    checkpoints.path(2).write_bytes(contents)
    _, notes = checkpoints.load_newest(warnings.append)
    assert notes["step"] == 1
    assert len(warnings) == 2 and "step-00000003.npz is damaged" in warnings[0]
    checkpoints.path(1).write_bytes(b"")
    with pytest.raises(DamagedCheckpoint, match=r"None of the 3 checkpoints .* can be read"):
        checkpoints.load_newest(warnings.append)


def test_a_full_disk_leaves_the_previous_checkpoint(tmp_path, monkeypatch):
    checkpoints = saved(tmp_path, [1])

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"step 2 could not be written .* is from step 1: make room"):
        saved(tmp_path, [2])
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001.npz"]
    assert checkpoints.load(1)[1]["step"] == 1


def test_a_models_state_is_restored_bit_for_bit():
    model, other = compiled_model(), compiled_model()
    for _ in range(3):
        model.optimizer.apply([ops.ones_like(weight) for weight in model.trainable_variables])
    state = state_of(model)
    restore(other, state)
    for name, array in state_of(other).items():
        np.testing.assert_array_equal(array, state[name], err_msg=name)
    assert int(other.optimizer.iterations) == 3


def test_the_state_of_a_different_model_is_refused_and_changes_nothing():
    model, wider = compiled_model(), compiled_model(d_ff=24)
    before = state_of(model)
    message = r"in the model and .* in the checkpoint, which belongs to a different model"
    with pytest.raises(ValueError, match=message):
        restore(model, state_of(wider))
    for name, array in state_of(model).items():
        np.testing.assert_array_equal(array, before[name])
    state = state_of(model)
    state.pop(next(iter(state)))
    with pytest.raises(ValueError, match=r"model/0000 .* missing in the checkpoint"):
        restore(model, state)


def test_the_average_is_the_mean_of_the_last_weights(tmp_path):
    weights, steps = average(saved(tmp_path, [1, 2, 4, 7]), 3)
    assert steps == [2, 4, 7]
    assert list(weights) == ["model/0000"]
    np.testing.assert_allclose(weights["model/0000"], np.full((64, 64), 13 / 3))
    message = r"has 4 checkpoints in a row \(steps: 1, 2, 4, 7\)\. Received: last=5\. Average fewer"
    with pytest.raises(ValueError, match=message):
        average(Checkpoints(tmp_path), 5)


def test_a_best_checkpoint_is_averaged_only_if_it_is_one_of_the_last(tmp_path):
    checkpoints = saved(tmp_path / "old", [1, 4, 7, 8], keep=2, best_step=1)
    assert checkpoints.steps() == [1, 7, 8] and average(checkpoints, 2)[1] == [7, 8]
    message = r"has 2 checkpoints in a row \(steps: 7, 8\)\. Received: last=3"
    for keep in (2, 9):  # a setting that was raised later closes no gap
        with pytest.raises(ValueError, match=message):
            average(Checkpoints(tmp_path / "old", keep), 3)
    checkpoints = saved(tmp_path / "new", [1, 2, 3], keep=2, best_step=2)
    assert average(checkpoints, 2)[1] == [2, 3]


def test_the_latest_series_begins_after_a_lost_checkpoint(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step in (1, 2, 3, 4):
        checkpoints.save(step, {"model/0": np.ones(1)}, {})
    checkpoints.path(3).unlink()
    assert checkpoints.latest() == [4]


def test_a_checkpoint_off_schedule_is_averaged_only_while_it_is_the_newest(tmp_path):
    checkpoints = saved(tmp_path, [1, 2, 3], keep=3)
    saved(tmp_path, [4], keep=3, on_schedule=False)
    assert average(checkpoints, 3)[1] == [2, 3, 4]
    saved(tmp_path, [5], keep=3)
    assert checkpoints.steps() == [2, 3, 5]
    assert average(checkpoints, 3)[1] == [2, 3, 5]


def test_a_checkpoint_off_schedule_left_by_a_killed_process_is_not_averaged(tmp_path, monkeypatch):
    checkpoints = saved(tmp_path, [1])
    saved(tmp_path, [2], on_schedule=False)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "delete_old", lambda checkpoints: None)
        saved(tmp_path, [3])
    assert (checkpoints.steps(), checkpoints.latest()) == ([1, 2, 3], [1, 3])
    checkpoints.path(1).write_bytes(b"damaged")  # does not keep the run from going on
    assert saved(tmp_path, [4]).steps() == [1, 3, 4]


def test_a_digest_is_that_of_the_contents(tmp_path):
    one, same = saved(tmp_path / "one", [1, 2]), saved(tmp_path / "same", [1, 2])
    os.utime(same.path(1), (0, 0))
    assert one.digest(1) == same.digest(1) != one.digest(2)
    same.path(1).write_bytes(b"")
    for call in (same.digest, same.notes):
        with pytest.raises(DamagedCheckpoint, match="is damaged or missing"):
            call(1)


def npy(contents, shape=None):
    """Returns the bytes of an array's file; `shape` replaces the shape in its header."""
    file, array = io.BytesIO(), np.asarray(contents)
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(file, header | ({"shape": shape} if shape else {}))
    return file.getvalue() + array.tobytes()


def notes_file(text):
    return npy(np.frombuffer(text.encode(), "uint8"))


@pytest.mark.parametrize(
    ("notes", "array", "message"),
    [("3", npy([1.0]), ""), ("{}", npy([1.0], (10**13,)), "allocate")],
)
def test_a_hostile_checkpoint_is_damaged(tmp_path, notes, array, message):
    checkpoints = saved(tmp_path, [1])
    with zipfile.ZipFile(checkpoints.path(1), "w") as file:
        file.writestr("notes.npy", notes_file(notes))
        file.writestr("a.npy", array)
    with pytest.raises(DamagedCheckpoint, match=rf"step-00000001.npz is damaged .*{message}"):
        checkpoints.load(1)
