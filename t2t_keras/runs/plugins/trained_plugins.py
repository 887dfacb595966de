"""The plug-in files of an experiment that is trained: copies in its run, and a check of its model.

A block whose `call` is overridden, but not its `decode_step`, trains well and translates badly. The
same is true of a positional encoding that ignores `start`. This is checked before the training.
"""

import dataclasses
import re
import shutil

import numpy as np
from absl import logging
from keras import ops

from pipelines.atomic_files import atomic_file
from pipelines.special_ids import BEGIN, UNKNOWN
from t2t_keras.models import architecture_of
from t2t_keras.plugins import execute, executed_plugin, failures_named, read_plugin
from t2t_keras.runs.plugins.plugin_files import FOLDER, load_plugins_of, named_entries

ROWS, LENGTH = 2, 6
# Maximum difference of the logits, as a share of the largest: in full precision, and in half.
ALLOWED, ALLOWED_IN_HALF = 1e-3, 0.05


def adopt_plugins(run, experiment):
    """Returns the `Plugin`s that a run needs, and sets `experiment.imports` to their paths.

    This process has executed them. The copies of a run to resume come first. Raises `ValueError` if
    two files have the same name, or the user does not trust one in the run.
    """
    copies = load_plugins_of(run.folder) if run.config_file.exists() else []
    owners = [table.owners.get(name) for table, name in used_entries(experiment)]
    files, known = {}, {}
    for file in [*copies, *map(executed_plugin, experiment.imports), *filter(None, owners)]:
        files.setdefault(file.path.name, file)
        for name, sha256 in ((file.path.name, file.sha256), *file.files):
            path = file.path.with_name(name)
            other, others = known.setdefault(name, (path, sha256))
            if others != sha256:
                raise ValueError(
                    f"{other} (SHA-256 {others}) and {path} (SHA-256 {sha256}) have the same name, "
                    f"under which {run.folder} keeps a copy. Rename one, or give a different --run"
                )
    experiment.imports = tuple(str(file.path) for file in files.values())
    return [*files.values()]


def used_entries(experiment):
    """Returns each `Registry` with the name of an entry that an experiment uses.

    Entries of this package are left out.
    """
    named = named_entries(dataclasses.asdict(experiment), architecture_of(experiment.model))
    return [(table, name) for table, name in named if name in table.own()]


def copy_plugins(run, experiment, files):
    """Copies the `Plugin`s of `adopt_plugins`, as they were executed, into a run.

    Sets `experiment.imports` to the copies. Returns {name: SHA-256}, for config.json.
    """
    for table, name in used_entries(experiment):
        if table.owners.get(name) is None:
            logging.warning(
                "%s=%r is an entry that this process has added to %s. To use the run in another "
                'process, put it into a Python file and name the file in imports=("FILE.py",)',
                *(table.setting, name, table.name),
            )
    folder = run.folder.absolute() / FOLDER
    for file in files:
        folder.mkdir(exist_ok=True)
        with atomic_file(folder / file.path.name) as output:
            output.write(file.contents)
        for name, _ in file.files:
            with (
                open(file.path.with_name(name), "rb") as data,
                atomic_file(folder / name) as output,
            ):
                shutil.copyfileobj(data, output)
        if read_plugin(folder / file.path.name).sha256 != file.sha256:
            raise ValueError(f"{file.path}: its FILES have changed meanwhile. Start again")
    experiment.imports = tuple(str(folder / file.path.name) for file in files)
    return {file.path.name: file.sha256 for file in files}


def use_copies(run, experiment, machines, *data):
    """Copies plug-in files into a run and, if it is new, calls the function `begin_run` of each.

    From then on, their `__file__` is the copy. Of the `Machines`, the chief writes. `data` are
    further arguments of `begin_run`: tokenizer and `IdStore`.
    """
    is_new, files = not run.config_file.exists(), adopt_plugins(run, experiment)
    folder = run.folder.absolute() / FOLDER
    if machines.is_chief:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
        copy_plugins(run, experiment, files)
    for file in files:
        module = execute(file)
        module.__file__ = str(folder / file.path.name)
        if machines.is_chief and is_new and hasattr(module, "begin_run"):
            with failures_named(file.path):
                module.begin_run(folder, experiment, *data)
    machines.all_values(0)  # the others wait for the chief


def check_decoding(model, experiment):
    """Raises `ValueError` if the decoding steps of a model of plug-in files are wrong or fail."""
    entries = [(table.setting, name) for table, name in used_entries(experiment)]
    changed = [f"{setting}={name}" for setting, name in entries if setting.startswith("model")]
    if not changed:
        return
    try:
        difference, largest = difference_of(model)
    except Exception as error:
        message = re.sub(r"\x1b\[\d*m", "", " ".join(str(error).split()))  # no bold type of Keras
        raise ValueError(
            f"The model with {', '.join(changed)} fails when it is tried before the training: "
            f"{type(error).__name__}: {message[:400]}"
        ) from error
    is_full = model.compute_dtype in ("float32", "float64")
    if not difference <= largest * (ALLOWED if is_full else ALLOWED_IN_HALF):
        raise ValueError(
            f"The decoding steps of the model with {', '.join(changed)} differ from its call, so "
            f"it would translate differently than it trains: the logits differ by {difference:.2g} "
            f"and are at most {largest:.2g}. A block that overrides `call` also needs `decode_step`"
            ", and a positional encoding must obey `start`"
        )


def difference_of(model):
    """Returns the largest difference between the logits of a call and of steps, and the largest."""
    config = model.config
    length = min(LENGTH, getattr(config, "max_length", LENGTH))  # rows of learned positions
    ids = np.arange(ROWS * length, dtype="int32").reshape(ROWS, length)
    count = min(config.vocab_size, config.source_vocab_size or config.vocab_size) - UNKNOWN
    source, target = (UNKNOWN + (ids + shift) % count for shift in (0, 3))
    target[:, 0] = BEGIN
    logits = numbers(model({"source": source, "target": target}, training=False))
    memory, cache = model.start_decoding(source, length)
    steps = []
    for position in range(length):
        step, cache = model.decode_step(target[:, position], position, cache, memory)
        steps.append(numbers(step))
    return np.abs(np.stack(steps, axis=1) - logits).max(), np.abs(logits).max()


def numbers(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))
