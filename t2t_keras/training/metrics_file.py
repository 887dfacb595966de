"""The metrics of a run's evaluations: `metrics.jsonl`, one JSON object per line.

Each line has a checksum of its other values, which is verified on reading.
"""

import contextlib
import json
import math
import os
import zlib
from pathlib import Path

CHECKSUM = "checksum"


class MetricsFile:
    """A file to which each evaluation appends a line.

    Args:
        path: `RUN/metrics.jsonl`. The file need not exist.
    """

    def __init__(self, path):
        self.path = Path(path)

    def append(self, metrics):
        """Adds a line with the values of a dict."""
        write_synced(self.path, "a", line_of(metrics))

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
            if isinstance(metrics, dict) and is_whole(metrics):
                return metrics
        raise ValueError(
            f"{self.path} is damaged: line {number:,} is not a JSON object with a step and the "
            "right checksum. Delete this line"
        )

    def forget_after(self, step):
        """Removes the lines of later steps and partial lines."""
        if not os.path.lexists(self.path):  # a broken link is damage
            return
        kept = [metrics for metrics in self.read() if metrics["step"] <= step]
        unfinished = self.path.with_suffix(".unfinished")
        write_synced(unfinished, "w", "".join(map(line_of, kept)))
        os.replace(unfinished, self.path)


def write_synced(path, mode, text):
    """Writes text to a file and waits until it is on disk."""
    with open(path, mode, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def line_of(metrics):
    """Returns a line of JSON. NaN and infinities, which JSON does not support, become null."""
    values = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in metrics.items()
    }
    return json.dumps(values | {CHECKSUM: checksum_of(values)}, allow_nan=False) + "\n"


def is_whole(metrics):
    """Returns whether the dict of a line has a step and the right checksum.

    Removes the checksum from the dict. Lines written by earlier versions have no checksum.
    """
    is_right = metrics.pop(CHECKSUM, None) in (None, checksum_of(metrics))
    return is_right and isinstance(metrics.get("step"), int)


def checksum_of(values):
    return f"{zlib.crc32(json.dumps(values).encode()):08x}"
