"""The averaged weights and their record belong together, whenever a process ends."""

import contextlib
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from t2t_keras.runs import Run
from t2t_keras.runs.training.averaged_weights import AveragedWeights


class Weights:
    """A model whose weights are some bytes."""

    def __init__(self, contents=b""):
        self.contents = contents

    def save(self, path):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("model.weights.h5", self.contents)

    def load_weights(self, path):
        self.contents = path.read_bytes()


@pytest.fixture
def averaged(tmp_path):
    weights = AveragedWeights(tmp_path)
    weights.write(Weights(b"one"), steps=[1], newest_checkpoint="1", made_by="t2t-train")
    return weights


def contents_of(averaged):
    model = Weights()
    averaged.load_into(model)
    return model.contents, averaged.record()["steps"]


def write_two(averaged):
    averaged.write(Weights(b"two"), steps=[1, 2], newest_checkpoint="2", made_by="t2t-average")


def test_the_record_is_that_of_the_weights(averaged):
    scored = averaged.digest()
    write_two(averaged)
    assert list(averaged.records()) == [averaged.digest()], "no record of earlier weights"
    assert averaged.is_of("2") and not averaged.is_of("1")
    with pytest.raises(ValueError, match=r"was replaced by a different process while it was scor"):
        averaged.add(scored, bleu=3)
    assert "bleu" not in averaged.record()
    averaged.add(averaged.digest(), bleu=3)
    assert (averaged.record()["bleu"], averaged.record()["steps"]) == (3, [1, 2])


class Killed(BaseException):
    pass


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("moment", range(8))
def test_killed_at_any_moment_either_weights_have_their_record(
    averaged, monkeypatch, moment, older
):
    """The process ends before the `moment`-th change in the folder."""
    if older:
        averaged.record_path.unlink()
    changes = 0

    def counted(change):
        def wrapped(*arguments, **options):
            nonlocal changes
            changes += 1
            if changes > moment:
                raise Killed
            return change(*arguments, **options)

        return wrapped

    with monkeypatch.context() as patches:
        for name in ("rename", "replace", "unlink", "write_bytes"):
            patches.setattr(Path, name, counted(getattr(Path, name)))
        patches.setattr(os, "fsync", counted(os.fsync))
        with contextlib.suppress(Killed):
            write_two(averaged)
    model = Weights()
    averaged.load_into(model)
    assert model.contents == (b"two" if averaged.is_of("2") else b"one")
    write_two(averaged)
    assert contents_of(averaged) == (b"two", [1, 2])


def test_weights_without_a_record_are_used_and_recorded_once(averaged):
    averaged.record_path.unlink()
    averaged.load_into(Weights())
    averaged.adopt("5")
    averaged.adopt("6")
    assert averaged.is_of("5") and not averaged.is_of("6")
    assert averaged.record() == {"steps": None, "newest_checkpoint": "5", "made_by": None}


def test_damaged_or_replaced_weights_are_refused_until_they_are_written_again(averaged):
    message = r"is not the file that averaged.json describes.* Run t2t-average to write it again"
    averaged.path.write_bytes(b"onf")
    for call in (lambda: averaged.load_into(Weights()), lambda: averaged.is_of("1")):
        with pytest.raises(ValueError, match=message):
            call()
    assert not averaged.is_of("2"), "training has gone on: they are to be replaced anyway"
    averaged.record_path.write_text("{")
    with pytest.raises(ValueError, match=r"averaged.json is damaged.* Run t2t-average, which"):
        averaged.load_into(Weights())
    write_two(averaged)
    assert contents_of(averaged) == (b"two", [1, 2])
    averaged.path.write_bytes(b"onf")
    averaged.record_path.unlink()
    assert averaged.record() is None
    averaged.load_into(Weights())


def test_weights_that_keras_cannot_read_are_named(run, tmp_path):
    averaged = AveragedWeights(tmp_path)
    averaged.path.write_bytes(b"no HDF5")
    with pytest.raises(ValueError, match=r"averaged.weights.h5 cannot be read: .* Run t2t-average"):
        averaged.load_into(run.experiment().new_model())


def test_a_run_notices_a_flipped_bit_and_loads_weights_again_that_have_changed(copied):
    copied.average(last=2)
    expected = {"steps": [4, 6], "newest_checkpoint": copied.checkpoints.digest(6)}
    assert copied.averaged.record() == expected | {"made_by": "t2t-average"}
    engine, status = copied.engine(), copied.averaged_weights.stat()
    Run(copied.folder).average(last=1)
    os.utime(copied.averaged_weights, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert copied.engine() is not engine
    contents = bytearray(copied.averaged_weights.read_bytes())
    contents[len(contents) // 2] ^= 1
    copied.averaged_weights.write_bytes(contents)
    with pytest.raises(ValueError, match="it was damaged or replaced"):
        copied.model()


@pytest.mark.long
def test_weights_replaced_while_they_are_exported_are_exported_with_their_own_record(copied):
    """An export that named other weights than it has would never be renewed."""
    copied.average(last=2)
    replaced = []

    class Racing(Run):
        def load_weights(self, model, weights=None):
            super().load_weights(model, weights)
            if not replaced:
                replaced.append(Run(copied.folder).average(last=1))

    model, steps = Racing(copied.folder).loaded_with_steps()
    assert steps == replaced[0] == [6]
    for ours, theirs in zip(model.weights, copied.model("6").weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
