"""Early stopping: training ends when the held-out loss has stopped falling."""

import math


class EarlyStopping:
    """The lowest held-out loss, its step, and the number of evaluations since then.

    Args:
        patience: number of evaluations without a lower loss after which training ends. 0: never.
    """

    def __init__(self, patience):
        self.patience = patience
        self.best_loss = None
        self.best_step = None
        self.worse = 0  # evaluations since the lowest loss

    def record(self, loss, step):
        """Records the loss of an evaluation; returns True if it is the lowest so far."""
        if self.best_loss is None or loss < self.best_loss:
            self.best_loss, self.best_step, self.worse = loss, step, 0
            return True
        self.worse += 1
        return False

    @property
    def is_exhausted(self):
        """Whether the patience is used up."""
        return 0 < self.patience <= self.worse

    def state(self):
        """Returns a dict for a checkpoint's notes."""
        return {"best_loss": self.best_loss, "best_step": self.best_step, "worse": self.worse}

    def restore(self, state):
        """Continues from the `state` of an earlier process."""
        self.best_loss, self.worse = state["best_loss"], state["worse"]
        self.best_step = state["best_step"]
        # Earlier versions recorded NaN, which no loss is below.
        if self.best_loss is not None and not math.isfinite(self.best_loss):
            self.best_loss, self.best_step, self.worse = None, None, 0
