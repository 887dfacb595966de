"""Writes, reads and averages checkpoints (§6.1).

A checkpoint is one file of arrays, `checkpoints/step-00001000.npz`. It contains the weights, the
optimizer's moments, the seeds of the dropout layers and the run's progress. Older checkpoints stay
usable whenever the process dies. Every array has a checksum, which is verified on reading. The
average of checkpoints, `averaged.npz`, is such a file, without the optimizer.
"""

import contextlib
import json
import os
import re
import zipfile
from pathlib import Path

import numpy as np

from pipelines.atomic_files import atomic_file, digest
from t2t_keras.checks import check_integer


class DamagedCheckpoint(ValueError):
    """A checkpoint file is incomplete, altered or missing."""


class Checkpoints:
    """The checkpoints of one run: the newest `keep` and the best.

    An off-schedule checkpoint (from an interruption or the last step) is deleted once there is a
    newer one. So an interrupted or extended run has the same checkpoints as an uninterrupted run.

    Args:
        folder: `RUN/checkpoints`.
        keep: number of newest checkpoints to keep.
    """

    def __init__(self, folder, keep=5):
        check_integer("keep", keep)
        self.folder = Path(folder)
        self.keep = keep

    def steps(self):
        """Returns the steps of all checkpoints, oldest first."""
        names = (re.fullmatch(r"step-(\d{8,})\.npz", path.name) for path in self.folder.glob("*"))
        return sorted(int(name[1]) for name in names if name)

    def path(self, step):
        return self.folder / f"step-{step:08}.npz"

    def save(self, step, state, notes, on_schedule=True):
        """Writes a checkpoint and deletes old ones, except the newest `keep` and the best.

        Args:
            step: number of steps done.
            on_schedule: whether an uninterrupted run would also write this checkpoint.
            state: {name: array}, see `state_of`. Arrays are read from it one at a time.
            notes: a dict of JSON values that `load` returns. Its "best_step" is the step of the
                best checkpoint so far, or None.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        earlier = self.on_schedule(each for each in self.steps() if each < step)
        notes = {**notes, "step": step, "previous": max(earlier, default=None), "keep": self.keep}
        try:
            write_state(self.path(step), state, notes | {"on_schedule": on_schedule})
        except OSError as error:
            raise OSError(
                f"The checkpoint of step {step:,} could not be written ({error}). The newest one "
                f"in {self.folder} is from step {max(self.steps(), default=0):,}: make room and "
                "run the same command to resume"
            ) from error
        self.delete_old()

    def delete_old(self):
        """Deletes all but the newest `keep` checkpoints on schedule and the best; see `save`."""
        for unfinished in self.folder.glob("step-*.unfinished"):
            unfinished.unlink()
        steps = self.steps()
        if not steps:
            return
        counted = self.counted(steps)
        keep = self.notes(steps[-1])["keep"]
        for old in set(steps) - set(counted[-keep:]) - {self.best()}:
            self.path(old).unlink()

    def on_schedule(self, steps):
        """Returns the steps whose checkpoints an uninterrupted run also writes, or are damaged."""
        found = []
        for step in steps:
            with contextlib.suppress(DamagedCheckpoint):
                if not self.notes(step)["on_schedule"]:
                    continue
            found.append(step)
        return found

    def counted(self, steps):
        """Returns the newest step and the earlier steps on schedule, oldest first."""
        return [*self.on_schedule(steps[:-1]), *steps[-1:]]

    def load(self, step):
        """Returns the state and the notes of a checkpoint."""
        return read_state(self.path(step))

    def notes(self, step):
        """Returns the notes of a checkpoint without reading its arrays."""
        return read_notes(self.path(step))

    def shapes(self, step):
        """Returns {name: shape} of a checkpoint's arrays without reading them."""
        return {name: tuple(shape) for name, shape in self.notes(step)["shapes"].items()}

    def digest(self, step):
        """Returns a digest of a checkpoint's state."""
        return state_digest(self.path(step))

    def latest(self):
        """Returns the steps of the most recent unbroken series of checkpoints, oldest first.

        An older checkpoint that was kept because it is the best is left out if the checkpoint
        after it has been deleted.
        """
        steps, latest = self.counted(self.steps()), []
        while steps:
            latest.insert(0, steps.pop())
            if self.notes(latest[0])["previous"] not in steps[-1:]:
                break
        return latest

    def load_newest(self, warn):
        """Returns the newest usable checkpoint, or None if the run has no checkpoints.

        `warn` gets a message about each damaged checkpoint that is skipped.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                state, notes = self.load(step)
                check_finite(state)
                return state, notes
            except ValueError as error:
                warn(f"The checkpoint of step {step:,} is skipped: {error}")
        if steps:
            raise DamagedCheckpoint(
                f"None of the {len(steps)} checkpoints in {self.folder} can be read. Delete "
                "them to start again from the first step"
            )
        return None

    def set_aside_after(self, step):
        """Renames the checkpoints of later steps, so that none of them counts as the newest."""
        for later in self.steps():
            if later > step:
                self.path(later).rename(self.path(later).with_suffix(".damaged"))

    def best(self):
        """Returns the step of the best checkpoint, as the newest checkpoint records it, or None."""
        steps = self.steps()
        for step in reversed(steps):
            with contextlib.suppress(DamagedCheckpoint):
                best = self.notes(step).get("best_step")
                return best if best in steps else None
        return None


def write_state(path, state, notes):
    """Writes a file of arrays and notes; see `Checkpoints.save`."""
    shapes = {}
    with atomic_file(path) as file:
        with zipfile.ZipFile(file.name, "w") as archive:
            for name in state:  # unlike `np.savez`, one at a time
                array = np.asanyarray(state[name])
                shapes[name] = array.shape
                write_array(archive, name, array)
            contents = json.dumps(notes | {"shapes": shapes}).encode()
            write_array(archive, "notes", np.frombuffer(contents, "uint8"))
        os.fsync(file.fileno())


def write_array(archive, name, array):
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array)


def read_state(path):
    """Returns the state and notes of a file of `write_state`."""
    with opened(path) as file:
        state = {name: file[name] for name in file.files}  # compares the checksums
        notes = json.loads(state.pop("notes").tobytes())
        if missing := notes["shapes"].keys() - state.keys():
            raise ValueError(f"it has no {min(missing)}")
    return state, notes


def read_notes(path):
    """Returns the notes in a file without reading its arrays; see `read_state`."""
    with opened(path) as file:
        return json.loads(file["notes"].tobytes())


def state_digest(path):
    """Returns a digest of the arrays in a file, computed from the checksums in the file."""
    with opened(path) as file:
        members = [each for each in file.zip.infolist() if each.filename != "notes.npy"]
    entries = sorted((each.filename, each.file_size, each.CRC) for each in members)
    return digest(repr(entries).encode())


@contextlib.contextmanager
def opened(path):
    """Yields the arrays of a file. All errors in the block become `DamagedCheckpoint`."""
    try:
        # `np.load` alone would leave a damaged file open.
        with open(path, "rb") as stream, np.load(stream) as file:
            yield file
    except Exception as error:  # `zipfile` and NumPy raise a dozen kinds for an altered file
        raise DamagedCheckpoint(
            f"{path} is damaged or missing: {error}. Restore it from a copy, or delete it "
            "(t2t-average writes new averaged weights)"
        ) from error


def check_finite(state):
    """Raises `ValueError` for the first array with an infinite or NaN element."""
    for name, array in state.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has infinite or NaN elements")


def state_of(model):
    """Returns everything that training changes, as {name: array}."""
    variables = variables_for(model, ["optimizer/"])
    return {name: each.numpy() for name, each in variables.items()}


def model_state(model):
    """Returns the part of `state_of` that belongs to the model."""
    return {name: each.numpy() for name, each in named("model", model.variables).items()}


def restore(model, state):
    """Assigns a state to a built model. Raises `ValueError` for the first array that does not fit.

    The arrays of the optimizer may be missing.
    """
    check_fits(model, {name: array.shape for name, array in state.items()})
    for name, variable in variables_for(model, state).items():
        variable.assign(state[name])


def check_fits(model, shapes):
    """Raises `ValueError` for the first array of a state that does not fit a model.

    `shapes` is {name: shape}. The arrays of the optimizer may be missing.
    """
    own = {name: tuple(each.shape) for name, each in variables_for(model, shapes).items()}
    of_optimizer = {name: shape for name, shape in shapes.items() if name.startswith("optimizer/")}
    for name in own | of_optimizer:
        ours, theirs = (each.get(name, "missing") for each in (own, shapes))
        if ours != theirs:
            other = "a different model"
            if name.startswith("optimizer/"):
                other = "an optimizer with different options (training.optimizer_options)"
            raise ValueError(
                f"{name} does not fit: it is {ours} in the model and {theirs} in the checkpoint, "
                f"which belongs to {other}"
            )


def variables_for(model, names):
    """Returns {name: variable} for a state, given the names of its arrays."""
    variables = named("model", model.variables)
    if any(name.startswith("optimizer/") for name in names):
        variables |= named("optimizer", model.optimizer.variables)
    return variables


def named(kind, variables):
    """Names variables by index, because Keras' own names differ between equal models."""
    return {f"{kind}/{index:04}": variable for index, variable in enumerate(variables)}


def average(checkpoints, last):
    """Averages the weights of the last checkpoints (§6.1: 5, or 20 for the big model).

    Args:
        checkpoints: a `Checkpoints`.
        last: number of consecutive checkpoints to average. An older checkpoint that was kept
            because it is the best does not count.

    Returns:
        The averages as {name: array}, see `state_of`, but without the optimizer's arrays; and the
        steps of the checkpoints.
    """
    check_integer("last", last)
    steps = checkpoints.latest()[-last:]
    if len(steps) < last:
        found = ", ".join(f"{step:,}" for step in steps) or "none"
        raise ValueError(
            f"{checkpoints.folder} has {len(steps)} checkpoints in a row (steps: {found}). "
            f"Received: last={last}. Average fewer, or keep more while training (training.keep)"
        )
    total = {}
    for step in steps:
        for name, array in model_part(checkpoints.load(step)[0]).items():
            total[name] = total.get(name, 0) + array.astype("float64") / last
    return {name: array.astype("float32") for name, array in total.items()}, steps


def model_part(state):
    """Returns the arrays of a state that belong to the model."""
    return {name: array for name, array in state.items() if name.startswith("model/")}
