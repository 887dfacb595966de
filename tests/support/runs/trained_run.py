"""A small run that drills damage or resume, and its results, which must stay the same."""

import json

from support.processes.accidents import arrays_of_weights
from support.processes.commands import TINY_RUN, command

TEXTS = "The dog sleeps.\nTwo cats saw a big house.\n\n"
TIMES = ("seconds", "tokens_per_second", "flops", "checksum")  # never the same


def train(run, data, texts, steps, *flags):
    return command("train", *train_flags(run, data, texts, steps), *flags)


def train_flags(run, data, texts, steps):
    return [
        *(f"--run={run}", f"--data={data}", f"--config.training.steps={steps}", *TINY_RUN),
        *(f"--dev_source={texts}/en", f"--dev_target={texts}/de"),
        "--config.data.batches.tokens=4000",
    ]


def arrays_of_checkpoint(run):
    """Returns the weights and moments of the newest checkpoint, as bytes."""
    return arrays_of_weights(max((run / "checkpoints").glob("step-*.npz")))


def averaged(run):
    return arrays_of_weights(run / "averaged.npz")


def evaluations(run):
    """Returns the evaluations, except at step 6: only a run that ends there evaluates then."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    lines = [line for line in lines if line["step"] != 6]
    return [{name: line[name] for name in line if not name.endswith(TIMES)} for line in lines]


def results_of(run):
    return arrays_of_checkpoint(run), averaged(run), evaluations(run)
