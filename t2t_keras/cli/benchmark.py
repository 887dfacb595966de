"""t2t-benchmark: times parts of the package on this machine.

t2t-benchmark train --config=base --rows=32 --length=32    a full training step
t2t-benchmark decode --run=runs/ende --input=test.en --engines=tensorflow,litert,litert:int8
t2t-benchmark data --data=data/ende                        batches from prepared data
t2t-benchmark serve --url=http://127.0.0.1:8501/v1/models/ende
t2t-benchmark gpu --results=gpu.json                       digits, speed, repetition on a GPU

train, decode and data print medians over several rounds. Each round of decode and data takes every
measurement once, so that a temporary slowdown of the machine affects all of them.
"""

from t2t_keras.checks import check_choice
from t2t_keras.cli.benchmarks import data, decode, gpu, serve, train
from t2t_keras.cli.flags.config_flag import config_loader, refuse_config
from t2t_keras.cli.flags.shared_flags import refuse_unused
from t2t_keras.cli.main import positional
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.cli.process.resources import keep_cpu_memory

LOAD_CONFIG = config_loader("base")

SUBJECTS = {"train": train, "decode": decode, "data": data, "serve": serve, "gpu": gpu}


def main(arguments):
    (name,) = positional(arguments, 1, f"one subject: {', '.join(SUBJECTS)}")
    check_choice("SUBJECT", name, SUBJECTS)
    subject = SUBJECTS[name]
    own = {flag.name for flag in subject.FLAGS}
    others = [flag for each in SUBJECTS.values() for flag in each.FLAGS if flag.name not in own]
    refuse_unused(others, f"on {name}")
    if subject in (decode, serve, gpu):
        refuse_config(f"on {name}")
    if subject is train:
        keep_cpu_memory()  # as t2t-train does
    load_backend(on_jax=subject in (train, gpu))
    subject.measure()
