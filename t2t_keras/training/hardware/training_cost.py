"""The time and the number of floating-point operations of training."""

import contextlib
import time


class TrainingCost:
    """Counts the seconds and the floating-point operations of the training steps.

    As in the paper's Table 2, the number of operations is the time multiplied by the sustained
    `rate` of all devices. If a run resumes on different devices, each part counts at its own rate.
    """

    def __init__(self, rate):
        self.rate = rate
        self.seconds, self.flops = 0.0, 0.0

    def start(self):
        self.started = time.monotonic()

    def stop(self):
        seconds = time.monotonic() - self.started
        self.seconds += seconds
        self.flops += seconds * self.rate

    def seconds_so_far(self):
        """Returns the seconds until now, while the count is running."""
        return self.seconds + time.monotonic() - self.started

    @contextlib.contextmanager
    def paused(self):
        """Excludes the time of the block."""
        self.stop()
        yield
        self.start()

    def state(self):
        """Returns a dict for a checkpoint's notes."""
        return {"seconds": self.seconds, "flops": self.flops}

    def restore(self, state):
        """Continues from the `state` of an earlier process."""
        self.seconds, self.flops = state["seconds"], state["flops"]
