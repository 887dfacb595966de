"""The metrics of a run's evaluations: `metrics.jsonl`, one JSON object per line."""

import json
import os
from pathlib import Path


class MetricsFile:
    """A file to which each evaluation appends a line.

    Args:
        path: `RUN/metrics.jsonl`. The file need not exist.
    """

    def __init__(self, path):
        self.path = Path(path)

    def append(self, metrics):
        """Adds a line with the values of a dict."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(metrics) + "\n")

    def read(self):
        """Returns a dict for each complete line; a killed process may have left a partial one."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    def forget_after(self, step):
        """Removes the lines of later steps and partial lines."""
        if not self.path.exists():
            return
        kept = [metrics for metrics in self.read() if metrics["step"] <= step]
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_text("".join(f"{json.dumps(each)}\n" for each in kept), encoding="utf-8")
        os.replace(unfinished, self.path)
