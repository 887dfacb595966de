"""Records in config.json on which hardware a run is trained, and from which step on."""

import keras
from absl import logging

from pipelines.atomic_files import write_json
from t2t_keras.runs.config_file import read_config
from t2t_keras.training.hardware.hardware_description import hardware_text, this_hardware

START = "from_step"


class HardwareRecord(keras.callbacks.Callback):
    """Adds this machine to the entry "hardware" of config.json when training begins.

    The entry is a list of the results of `this_hardware`, each with the step after which this
    hardware was used. A run that resumes on the same hardware does not get a second item.

    Args:
        run: the `Run`.
        replicas, machines: numbers of replicas and machines in the job.
    """

    def __init__(self, run, replicas=1, machines=1):
        super().__init__()
        self.run, self.replicas, self.machines = run, replicas, machines

    def on_train_begin(self, logs=None):
        hardware = this_hardware(self.replicas, self.machines)
        logging.info("Training on %s", hardware_text(hardware))
        step = int(self.model.optimizer.iterations.numpy())
        config = read_config(self.run.config_file)
        # Items of this and later steps are from processes whose steps are repeated now.
        known = [each for each in hardware_in(config) if each[START] < step]
        if not known or known[-1] != {START: known[-1][START], **hardware}:
            known.append({START: step, **hardware})
        if known != config.get("hardware"):
            write_json(self.run.config_file, config | {"hardware": known})


def hardware_in(config):
    """Returns the items of a config.json's entry "hardware", except for damaged ones."""
    items = config.get("hardware")
    return [each for each in items if is_item(each)] if isinstance(items, list) else []


def is_item(value):
    try:
        return isinstance(value[START], int) and bool(hardware_text(value))
    except (LookupError, TypeError, AttributeError):
        return False
