"""The parts of `t2t-benchmark gpu`. Each runs in its own process: memory and programs are its own.

A process writes each row as soon as it is measured, so an error or a time limit loses no row.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from t2t_keras.experiment import load_experiment
from t2t_keras.reproduction.gpu.accelerator import NotPossible, Row, accelerators, hardware
from t2t_keras.reproduction.gpu.digits import digits
from t2t_keras.reproduction.gpu.repetition import killed, repeats, replicas
from t2t_keras.reproduction.gpu.searching import first_call, searches
from t2t_keras.reproduction.gpu.training_speed import base, big

# The most important parts first: later ones may run out of time. All processes share a new folder
# of compiled programs, so the second `first_call` finds those of the first one.
PARTS = {
    "hardware": hardware,
    "digits": digits,
    "base": base,
    "big": big,
    "searches": searches,
    "first_call": first_call,
    "next_call": first_call,
    "repeats": repeats,
    "replicas": replicas,
    "killed": killed,
}


@dataclasses.dataclass
class Size:
    """How much is measured.

    Args:
        tokens: positions of a training batch on each side.
        length: positions of each sentence.
        steps, rounds: a step's time is the median of `rounds` times of `steps` steps.
        product: rows and columns of the matrices whose product measures the machine's speed.
        digit_rows: sentences whose logits are compared.
        search_rows: sentences that are translated together.
        model: changes to the shipped models.
    """

    tokens: int = 25_000
    length: int = 32
    steps: int = 20
    rounds: int = 3
    product: int = 8192
    digit_rows: int = 8
    search_rows: tuple = (1, 32, 256)
    model: dict = dataclasses.field(default_factory=dict)

    def experiment(self, name):
        """Returns a shipped experiment with the changes to its model."""
        experiment = load_experiment(name)
        experiment.model = dataclasses.replace(experiment.model, **self.model)
        return experiment


SMALL = {"vocab_size": 64, "num_layers": 1, "d_model": 16, "d_ff": 32, "num_heads": 2}
TINY = Size(64, 8, 2, 3, 64, 3, (1, 3), SMALL)


def rows_of(name):
    """Runs a part in this process and yields its rows. Without a GPU, its size is tiny."""
    yield from PARTS[name](Size() if accelerators() else TINY)


def write_rows(name, path):
    """Runs a part in this process and writes its rows, or the reason why it cannot run."""
    with open(path, "a", encoding="utf-8", buffering=1) as file:
        try:
            for row in rows_of(name):
                file.write(json.dumps(row._asdict()) + "\n")
        except NotPossible as reason:
            file.write(json.dumps({"skipped": str(reason)}) + "\n")


def run_parts(names, command, minutes):
    """Runs parts one after the other in processes and yields their results.

    Args:
        names: names in `PARTS`.
        command: function that takes a name and a path, and returns the command for `write_rows`.
        minutes: time limit of all parts.

    Yields:
        A dict for each part: "part", "seconds", "rows", and "missing", the reason why rows are
        missing, or None.
    """
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"XDG_CACHE_HOME": folder, "TMPDIR": folder}
        environment["T2T_STAGE_PARENT"] = str(os.getpid())  # a part ends with this process
        options = {"env": environment, "errors": "replace", "start_new_session": True}
        for name in names:
            start, path, missing = time.monotonic(), Path(folder, f"{name}.jsonl"), None
            limit = max(0.001, end - start)
            try:
                done = subprocess.run(
                    command(name, path), **options, capture_output=True, timeout=limit
                )
                if done.returncode:
                    missing = f"exit code {done.returncode}"
                    missing = (done.stderr.strip() or missing).splitlines()[-1]
            except subprocess.TimeoutExpired:
                missing = f"the {minutes:g} minutes are over"
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            rows = [json.loads(line) for line in lines]
            missing = next((row["skipped"] for row in rows if "skipped" in row), missing)
            measured = [Row(**row) for row in rows if "skipped" not in row]
            seconds = time.monotonic() - start
            yield {"part": name, "seconds": seconds, "rows": measured, "missing": missing}


def text_of(result):
    """Returns a part's result as lines of text."""
    lines = [f"{result['part']} ({result['seconds']:.0f} s)"]
    lines += map(line_of, result["rows"])
    if result["missing"]:
        lines.append(f"  not measured: {result['missing']}")
    return "\n".join(lines)


def line_of(row):
    number = row.value
    if not isinstance(number, str):
        number = f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
    return f"  {row.name:<60} {number:>12} {row.unit}".rstrip()


def in_own_process(name, path):
    return [sys.executable, "-m", "t2t_keras.cli", "benchmark", "gpu", f"--part={name}:{path}"]
