"""Checks that the decoding steps of a user's model compute what its training computes.

A block whose `call` is overridden, but not its `decode_step`, trains well and translates badly. The
same is true of positions that ignore where a step is. So the check is made before the training.
"""

import re

import numpy as np
from keras import ops

from pipelines.special_ids import BEGIN, UNKNOWN
from t2t_keras.runs.plugins.copied_plugins import used_entries

ROWS, LENGTH = 2, 6
LONGEST = 400  # characters of a message
# {dtype of the computation: maximum difference of the logits, as a share of the largest}
ALLOWED = {"float32": 1e-3, "float64": 1e-3}
ALLOWED_IN_HALF = 0.05


def check_decoding(model, experiment):
    """Raises `ValueError` if the decoding steps of a model of plug-in files are wrong or fail.

    Args:
        model: the model.
        experiment: its `Experiment`. A model without entries of a user is not checked.
    """
    entries = [(table.setting, name) for table, name in used_entries(experiment)]
    changed = [f"{setting}={name}" for setting, name in entries if setting.startswith("model")]
    if not changed:
        return
    try:
        difference, largest = difference_of(model)
    except Exception as error:
        raise ValueError(
            f"The model with {', '.join(changed)} fails when it is tried before the training: "
            f"{type(error).__name__}: {message_of(error)}"
        ) from error
    if not difference <= largest * ALLOWED.get(model.compute_dtype, ALLOWED_IN_HALF):
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


def message_of(error):
    """Returns the message of an error in one line, without Keras' bold type."""
    return re.sub(r"\x1b\[\d*m", "", " ".join(str(error).split()))[:LONGEST]


def numbers(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))
