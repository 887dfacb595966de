"""Writes, reads and averages checkpoints (§6.1).

A checkpoint is one file of arrays, `checkpoints/step-00001000.npz`. It contains the weights, the
optimizer's moments, the seeds of the dropout layers and the run's progress. It is written under a
temporary name, synced to disk and renamed, so that older checkpoints stay usable whenever
the process dies. Every array has a checksum, which is verified on reading. The average of
checkpoints, `averaged.npz`, is such a file, without the optimizer.
"""

import contextlib
import hashlib
import json
import os
import re
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from t2t_keras.checks import check_integer
from t2t_keras.training.state_fit import check_fits, has_optimizer, named

# Errors of `zipfile` and NumPy for an altered file, or for a file that claims a huge array.
UNREADABLE = (
    *(OSError, ValueError, KeyError, EOFError, RuntimeError, MemoryError, OverflowError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(TypeError, SyntaxError, tokenize.TokenError),  # a header is parsed as a Python literal
)


NOTES = ("step", "previous", "keep", "arrays", "on_schedule")  # that every checkpoint has


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
        """Deletes all checkpoints except the newest `keep` and the best.

        `keep` and the best step are in the notes of the newest checkpoint. Unfinished files of
        killed processes and older checkpoints off schedule are also deleted.
        """
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
        """Returns the steps whose checkpoints an uninterrupted run would also write."""
        return [step for step in steps if self.is_on_schedule(step)]

    def is_on_schedule(self, step):
        """Returns whether a checkpoint is on schedule. Damaged checkpoints count as on schedule."""
        with contextlib.suppress(DamagedCheckpoint):
            return self.notes(step)["on_schedule"]
        return True

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
        with damage_reported(self.path(step)), zipfile.ZipFile(self.path(step)) as file:
            names = [name.removesuffix(".npy") for name in file.namelist() if name != "notes.npy"]
            return {name: shape_in(file, name) for name in names}

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

        Args:
            warn: called with a message about each damaged checkpoint that is skipped.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                state, notes = self.load(step)
                with damage_reported(self.path(step)):
                    check_finite(state)
                return state, notes
            except DamagedCheckpoint as error:
                warn(f"{error}. Falling back to the previous checkpoint")
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
    """Writes a file of arrays and notes. Its name is only ever that of a complete file.

    Args:
        path: the file.
        state, notes: see `Checkpoints.save`.
    """
    unfinished = path.with_suffix(".unfinished")
    notes = json.dumps(notes | {"arrays": len(state)}).encode()
    try:
        with open(unfinished, "wb") as file:
            write_arrays(file, {"notes": np.frombuffer(notes, "uint8")}, state)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    unfinished.rename(path)


def read_state(path, names=NOTES):
    """Returns the state and the notes in a file that `write_state` has written.

    Args:
        path: the file.
        names: names that the notes must have.
    """
    with damage_reported(path):
        with zipfile.ZipFile(path) as file:
            check_stored(file)
            if damaged := file.testzip():
                raise ValueError(f"wrong checksum of {damaged}")
        with opened(path) as file:
            state = {name: numbers(name, file[name]) for name in file.files}
        notes = parsed_notes(state.pop("notes"), names)
        if (arrays := notes["arrays"]) != len(state):
            raise ValueError(f"it has {len(state)} of {arrays} arrays")
    return state, notes


def read_notes(path, names=NOTES):
    """Returns the notes in a file without reading its arrays; see `read_state`."""
    with damage_reported(path), opened(path) as file:
        return parsed_notes(file["notes"], names)


def state_digest(path):
    """Returns a digest of the arrays in a file, computed from the checksums in the file."""
    with damage_reported(path), zipfile.ZipFile(path) as file:
        members = [each for each in file.infolist() if each.filename != "notes.npy"]
        entries = sorted((each.filename, each.file_size, each.CRC) for each in members)
    return hashlib.blake2b(repr(entries).encode(), digest_size=16).hexdigest()


def write_arrays(file, *mappings):
    """Writes {name: array} like `np.savez`, but reads the arrays one at a time."""
    with zipfile.ZipFile(file, "w") as archive:
        for arrays in mappings:
            for name in arrays:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(arrays[name]))


@contextlib.contextmanager
def opened(path):
    """Yields the arrays of a file. `np.load` alone would leave a damaged file open."""
    with open(path, "rb") as stream, np.load(stream) as file:
        check_stored(file.zip)
        yield file


def check_stored(file):
    """Rejects compressed arrays: `save` never writes them, and they could fill the memory."""
    for member in file.infolist():
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member.filename} is compressed")


def numbers(name, array):
    """Returns the array. Raises `ValueError` if it does not contain numbers."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} is not an array of numbers")
    return array


def shape_in(archive, name):
    """Returns the shape of an array, which its header states."""
    with archive.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        if version != (1, 0):  # `write_array` chooses it for all arrays of numbers
            raise ValueError(f"{name} has a header of version {version}")
        return np.lib.format.read_array_header_1_0(member)[0]


def parsed_notes(array, names):
    notes = json.loads(array.tobytes())
    if not isinstance(notes, dict) or not {*names} <= notes.keys():
        raise ValueError(f"its notes are not an object with {', '.join(names)}")
    return notes


def check_finite(state):
    """Raises `ValueError` for the first array with an infinite or NaN element."""
    for name, array in state.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has infinite or NaN elements")


@contextlib.contextmanager
def damage_reported(path):
    """Raises `DamagedCheckpoint` instead of the errors of a file that cannot be read."""
    try:
        yield
    except UNREADABLE as error:
        raise DamagedCheckpoint(f"{path} is damaged or missing: {error}") from error


def state_of(model):
    """Returns everything that training changes, as {name: array}."""
    optimizer = named("optimizer", model.optimizer.variables)
    return model_state(model) | {name: each.numpy() for name, each in optimizer.items()}


def model_state(model):
    """Returns the part of `state_of` that belongs to the model."""
    return {name: each.numpy() for name, each in named("model", model.variables).items()}


def restore(model, state):
    """Assigns a state to a model. Raises `ValueError` for the first array that does not fit.

    Args:
        model: a built model.
        state: {name: array}, see `state_of`. The arrays of the optimizer may be missing.
    """
    check_fits(model, {name: array.shape for name, array in state.items()})
    variables = named("model", model.variables)
    if has_optimizer(state):
        variables |= named("optimizer", model.optimizer.variables)
    for name, variable in variables.items():
        variable.assign(state[name])


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
