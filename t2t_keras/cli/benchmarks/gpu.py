"""Measures digits, speed, memory and repetition of a GPU; on CPUs, the same at a tiny size."""

import os
import signal
from pathlib import Path

from absl import flags

from pipelines.atomic_files import write_json
from t2t_keras.checks import check, check_choice
from t2t_keras.cli.flags.shared_flags import define_list
from t2t_keras.cli.process.streams import interrupted

MOST_MINUTES = 1440

PARTS = define_list(
    "parts",
    [],
    "gpu: parts to measure, such as digits,base,searches. Default: all.",
)
MINUTES = flags.DEFINE_float("minutes", 10, "gpu: time limit of all parts together.")
RESULTS = flags.DEFINE_string("results", None, "gpu: JSON file to which the rows are written.")
# For the processes that the command starts.
PART = flags.DEFINE_string("part", None, "gpu: PART:FILE, measured in this process.")
FLAGS = (PARTS, MINUTES, RESULTS, PART)


def measure():
    from t2t_keras.reproduction.gpu import parts

    if PART.value:
        name, _, path = PART.value.partition(":")
        check_choice("--part", name, parts.PARTS)
        return parts.write_rows(name, path)
    names, results = dict.fromkeys(PARTS.value or parts.PARTS), {}
    for name in names:
        check_choice("--parts", name, parts.PARTS)
    check(0 < MINUTES.value <= MOST_MINUTES, "--minutes", MINUTES.value, f"up to {MOST_MINUTES}")
    if RESULTS.value:
        folder, allowed = Path(RESULTS.value).parent, "a file in a folder that can be written"
        check(os.access(folder, os.W_OK), "--results", RESULTS.value, allowed)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that temporary files are removed
    try:
        for result in parts.run_parts(names, parts.in_own_process, MINUTES.value):
            rows = [row._asdict() for row in result["rows"]]
            results[result["part"]] = result | {"rows": rows}
            print(parts.text_of(result), flush=True)
            if RESULTS.value:
                write_json(RESULTS.value, results)
    except KeyboardInterrupt:
        interrupted()
