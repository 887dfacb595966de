"""Contents of runs, exports and other folders, which are compared after accidents."""

import json
import os

import numpy as np
import tensorflow as tf

# Size of a drill. The default is for trying; BUILD.md has the sizes of the full drills.
SIZE = int(os.environ.get("T2T_DRILL", "10"))
TIMES = ("seconds", "tokens_per_second", "flops")  # never the same


def contents(folder):
    """Returns the bytes of all files in a folder, by path."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def arrays_of_weights(path):
    """Returns the arrays of a checkpoint or of averaged weights, as bytes."""
    with np.load(path) as file:
        return {name: file[name].tobytes() for name in file.files if name != "notes"}


def variables_of(folder):
    """Returns the stored weights of an export, sorted: their order and names may vary."""
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    names = [name for name in reader.get_variable_to_shape_map() if "OBJECT_GRAPH" not in name]
    return sorted(np.asarray(reader.get_tensor(name)).tobytes() for name in names)


def results_of_run(run):
    """Returns the newest checkpoint, the averaged weights and the evaluations of a run.

    Evaluations at step 6 are left out: only a run that ends there evaluates then.
    """
    newest = max((run / "checkpoints").glob("step-*.npz"))
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    evaluations = [
        {name: value for name, value in line.items() if not name.endswith(TIMES)}
        for line in lines
        if line["step"] != 6
    ]
    return arrays_of_weights(newest), arrays_of_weights(run / "averaged.npz"), evaluations
