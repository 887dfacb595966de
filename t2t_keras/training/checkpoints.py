"""A run's state on disk: written whole or not at all, resumed bit for bit, averaged (§6.1).

A checkpoint is one file of arrays, `checkpoints/step-00001000.npz`: the weights, the optimizer's
moments, the seeds of the dropout layers, and what the run knows about itself. It is written
beside its place, brought to the disk and renamed, so that whatever ends the process leaves the
older ones usable. Every array has a checksum; a damaged file is found out when it is read.
"""

import contextlib
import json
import os
import zipfile
from pathlib import Path

import numpy as np

from t2t_keras.checks import check_integer, nearest


class DamagedCheckpoint(ValueError):
    """The file is not a whole checkpoint."""


class Checkpoints:
    """The checkpoints of one run, the newest `keep` of them and the best one.

    Args:
        folder: `RUN/checkpoints`.
        keep: how many to keep.
    """

    def __init__(self, folder, keep=5):
        check_integer("keep", keep)
        self.folder = Path(folder)
        self.keep = keep

    def steps(self):
        """The steps of which there is a checkpoint, the oldest first."""
        names = (path.stem for path in self.folder.glob("step-*.npz"))
        return sorted(int(name.removeprefix("step-")) for name in names)

    def path(self, step):
        return self.folder / f"step-{step:08}.npz"

    def save(self, step, state, notes):
        """Writes a checkpoint and deletes those that are too old.

        Args:
            step: how many steps were done.
            state: arrays by name, see `state_of`.
            notes: a dict for JSON, given back by `load`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(step)
        unfinished = path.with_suffix(".unfinished")
        notes = np.frombuffer(json.dumps({**notes, "step": step}).encode(), "uint8")
        try:
            with open(unfinished, "wb") as file:
                np.savez(file, notes=notes, **state)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise OSError(
                f"The checkpoint of step {step:,} could not be written ({error}). The newest one "
                f"in {self.folder} is that of step {max(self.steps(), default=0):,}: make room and "
                "start the same command again"
            ) from error
        unfinished.rename(path)
        kept = {*self.steps()[-self.keep :], self.best()}
        for old in self.steps():
            if old not in kept:
                self.path(old).unlink()

    def load(self, step):
        """The state and the notes of a checkpoint."""
        path = self.path(step)
        try:
            with zipfile.ZipFile(path) as file:
                if damaged := file.testzip():
                    raise ValueError(f"{damaged} has another checksum")
            with np.load(path) as file:
                state = {name: file[name] for name in file.files}
            notes = json.loads(state.pop("notes").tobytes())
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise DamagedCheckpoint(f"{path} is damaged or missing: {error}") from error
        return state, notes

    def load_newest(self, warn):
        """The newest checkpoint that is whole, or None if the run has none.

        Args:
            warn: called with a sentence about each damaged one that is passed over.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                return self.load(step)
            except DamagedCheckpoint as error:
                warn(f"{error}. Falling back to the one before it")
        if steps:
            raise DamagedCheckpoint(
                f"None of the {len(steps)} checkpoints in {self.folder} can be read. Delete "
                "them to begin again from the first step"
            )
        return None

    def note_best(self, step):
        """Marks a checkpoint as the best so far; it is kept whatever its age."""
        (self.folder / "best.unfinished").write_text(json.dumps({"step": step}) + "\n")
        (self.folder / "best.unfinished").rename(self.folder / "best.json")

    def best(self):
        """The step of the best checkpoint, or None."""
        path = self.folder / "best.json"
        return json.loads(path.read_text())["step"] if path.exists() else None


def state_of(model):
    """Everything that training changes, as arrays by name."""
    variables = named("model", model.variables) | named("optimizer", model.optimizer.variables)
    return {name: variable.numpy() for name, variable in variables.items()}


def restore(model, state):
    """Puts a state back; says which array does not fit if one does not."""
    wanted = named("model", model.variables)
    if any(name.startswith("optimizer/") for name in state):
        wanted |= named("optimizer", model.optimizer.variables)
    for name, variable in wanted.items():
        if name not in state:
            raise ValueError(
                f"The checkpoint has no {name}{nearest(name, state)}: it is that of another model"
            )
        if state[name].shape != tuple(variable.shape):
            raise ValueError(
                f"{name} has the shape {tuple(variable.shape)}, and {state[name].shape} in the "
                "checkpoint: it is that of another model"
            )
    for name, variable in wanted.items():
        variable.assign(state[name])


def named(kind, variables):
    """Variables by their number: Keras' names differ between models of the same kind."""
    return {f"{kind}/{number:04}": variable for number, variable in enumerate(variables)}


def average(checkpoints, last):
    """The mean of the weights of the newest checkpoints (§6.1: 5, or 20 for the big model).

    Args:
        checkpoints: `Checkpoints`.
        last: how many.

    Returns:
        Arrays by name, as of `state_of`, without the optimizer's; and the steps they are of.
    """
    check_integer("last", last)
    steps = checkpoints.steps()[-last:]
    if len(steps) < last:
        raise ValueError(
            f"{checkpoints.folder} has {len(steps)} checkpoints. Received: last={last}. Average "
            "fewer, or keep more while training"
        )
    total = {}
    for step in steps:
        state, _ = checkpoints.load(step)
        for name, array in state.items():
            if name.startswith("model/"):
                total[name] = total.get(name, 0) + array.astype("float64") / last
    return total, steps
