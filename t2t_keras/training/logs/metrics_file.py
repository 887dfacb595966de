"""Files of metrics, one JSON object per line: `metrics.jsonl` and `training.jsonl`."""

import contextlib
import json
import math
import os
from pathlib import Path

from pipelines.atomic_files import write_text


class MetricsFile:
    """A file to which a line is appended for a step. It need not exist."""

    def __init__(self, path):
        self.path = Path(path)

    def append(self, metrics, synced=True):
        """Adds a dict with a "step" as a line. `synced` waits until it is on disk; see `sync`."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line_of(metrics))
        if synced:
            self.sync()

    def sync(self):
        """Waits until all lines are on disk."""
        if self.path.exists():
            with open(self.path, "a") as file:
                os.fsync(file.fileno())

    def read(self):
        """Returns a dict for each complete line. NaN and infinities are None.

        A killed process may have left a partial line, which is ignored.
        """
        if not os.path.lexists(self.path):  # a broken link is damage
            return []
        text = self.path.read_text(encoding="utf-8", errors="replace")
        *lines, partial = text.split("\n")
        # A closing brace occurs only at the end of a line. If the last line has a brace but no line
        # break, it is damaged, not partial.
        lines += [partial] if "}" in partial else []
        return [self.parsed(line, number) for number, line in enumerate(lines, 1)]

    def parsed(self, line, number):
        with contextlib.suppress(ValueError, RecursionError):
            metrics = json.loads(line, parse_constant=lambda name: None)
            if isinstance(metrics, dict) and isinstance(metrics.get("step"), int):
                return metrics
        raise ValueError(
            f"{self.path} is damaged: line {number:,} is not a JSON object with a step. Delete "
            "this line"
        )

    def forget_after(self, step):
        """Removes the lines of later steps and partial lines."""
        if not os.path.lexists(self.path):  # a broken link is damage
            return
        kept = [metrics for metrics in self.read() if metrics["step"] <= step]
        write_text(self.path, "".join(map(line_of, kept)))
        self.sync()


def line_of(metrics):
    """Returns a line of JSON. NaN and infinities, which JSON does not support, become null."""
    values = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in metrics.items()
    }
    return json.dumps(values, allow_nan=False) + "\n"
