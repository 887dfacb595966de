"""Whether training repeats bit for bit: twice, on a strategy, after a kill."""

import subprocess
import tempfile
import time
from pathlib import Path

import keras
import numpy as np

from t2t_keras.reproduction.gpu.accelerator import NotPossible, Row, on_jax
from t2t_keras.reproduction.gpu.digits import padded_batch
from t2t_keras.stages.stages import start_command

STEPS = 10
KILLED_RUN = {"steps": 40, "checkpoint_every": 10, "evaluate_every": 40}


def repeats(size):
    """Trains twice from the same seed."""
    yield from compared("trained twice", trained(size), trained(size))


def replicas(size):
    """Trains with a strategy on one device, and on all of them if there are several."""
    devices, plain = keras.distribution.list_devices(), trained(size)
    with strategy(devices[:1]).scope():
        yield from compared("one replica and none", plain, trained(size))
    if len(devices) == 1:
        raise NotPossible("there is only one device")
    with strategy(devices).scope():
        yield from compared(f"{len(devices)} replicas and none", plain, trained(size))


def strategy(devices):
    """Returns MirroredStrategy or, on JAX, Keras' DataParallel."""
    if on_jax():
        return keras.distribution.DataParallel(devices=devices)
    from t2t_keras.training.hardware.machines import mirrored_strategy

    return mirrored_strategy(devices=devices)


def killed(size):
    """Runs t2t-train to the end, and again with a kill (SIGKILL) and the same command."""
    if on_jax():
        raise NotPossible("t2t-train needs TensorFlow")
    from t2t_keras.runs import Run

    with tempfile.TemporaryDirectory() as folder:
        whole, resumed = Path(folder, "whole"), Path(folder, "resumed")
        train(whole).communicate()
        with train(resumed) as process:
            while process.poll() is None and not list(resumed.glob("checkpoints/*.npz")):
                time.sleep(0.05)
            process.kill()
        yield Row("killed after step", max(Run(resumed).checkpoints.steps(), default=0))
        train(resumed).communicate()
        states = [Run(each).loaded("newest").get_weights() for each in (whole, resumed)]
        yield from compared("killed and resumed", *states)


def train(run):
    flags = [f"--config.training.{name}={value}" for name, value in KILLED_RUN.items()]
    flags += [f"--run={run}", "--noexport", "--config=quickstart", "--config.data.toy_pairs=1000"]
    return start_command("train", flags, subprocess.DEVNULL)


def trained(size):
    """Trains some steps from a seed, with dropout, and returns the weights."""
    experiment = size.experiment("base")
    experiment.training.precision = "mixed_bfloat16"
    keras.utils.set_random_seed(1)
    model = experiment.compiled_model()
    batch = padded_batch(experiment.model.vocab_size, 8 * size.digit_rows, size.length)
    for _ in range(STEPS):
        model.train_on_batch(*batch)
    return model.get_weights()


def compared(name, first, second):
    """Yields how many arrays are equal to the bit, and the largest difference."""
    equal = sum(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    worst = max(float(np.max(np.abs(a - b))) for a, b in zip(first, second, strict=True))
    yield Row(f"{name}: weights equal to the bit", f"{equal} of {len(first)}")
    yield Row(f"{name}: largest difference", worst)
