"""Measures in one command what a GPU must show; on CPUs, the same at a tiny size."""

from absl import flags

from pipelines.atomic_files import write_json
from t2t_keras.checks import check_choice
from t2t_keras.cli.flags.shared_flags import define_list

PARTS = define_list(
    "parts",
    [],
    "gpu: parts to measure, such as digits,base,searches. Default: all.",
)
MINUTES = flags.DEFINE_float(
    "minutes", 10, "gpu: time limit of all parts together.", lower_bound=0.1
)
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
    names = PARTS.value or list(parts.PARTS)
    for name in names:
        check_choice("--parts", name, parts.PARTS)
    results = {}
    if RESULTS.value:
        write_json(RESULTS.value, results)  # an error about the file comes before the measurement
    for result in parts.run_parts(names, parts.in_own_process, MINUTES.value):
        rows = [row._asdict() for row in result["rows"]]
        results[result["part"]] = result | {"rows": rows}
        print(parts.text_of(result), flush=True)
        if RESULTS.value:
            write_json(RESULTS.value, results)
