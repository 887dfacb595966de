"""The averaged weights of a run: a file like a checkpoint, whose notes are their record.

A record has these fields:

    steps              steps of the averaged checkpoints. null: unknown
    newest_checkpoint  digest of the run's newest checkpoint at that time
    chosen             result of the comparison: the run's default weights, "averaged" or a step
    compared           name, BLEU and p-value of all weights in the comparison
    compared_on        held-out set and number of lines of the comparison
    bleu               BLEU of the chosen weights, measured by t2t-train, for each held-out set
"""

from t2t_keras.training.checkpoints import read_notes, read_state, state_digest, write_state


class AveragedWeights:
    """The averaged weights in a run's folder, a `Path`."""

    def __init__(self, folder):
        self.path = folder / "averaged.npz"

    def digest(self):
        """Returns the digest of the weights, or None if there are none."""
        return state_digest(self.path) if self.path.exists() else None

    def record(self):
        """Returns the record of the weights, or None if there are none."""
        return read_notes(self.path) if self.path.exists() else None

    def state(self):
        """Returns the weights, see `restore`."""
        return read_state(self.path)[0]

    def write(self, state, steps, newest_checkpoint, **facts):
        """Writes the weights, see `restore`, and their record."""
        record = {"steps": steps, "newest_checkpoint": newest_checkpoint, **facts}
        write_state(self.path, state, record)

    def add(self, digest, **facts):
        """Adds facts to the record of the weights with a digest, unless they have been replaced."""
        if digest != self.digest():
            raise ValueError(
                f"{self.path} was replaced by a different process while it was scored. Run the "
                "same command again to score the new weights"
            )
        write_state(self.path, self.state(), self.record() | facts)
