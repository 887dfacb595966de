import os
import subprocess
import sys

import pytest
from support.processes.commands import ROOT

# Keras alone trains on the batches, in a process that cannot import TensorFlow.
PROGRAM = """
import sys
sys.modules["tensorflow"] = None
from pipelines.batches.assembly import batches
from pipelines.batches.batch_plan import BatchConfig, BatchPlan
from pipelines.batches.id_store import IdStore, Shard
from t2t_keras.experiment import load_experiment

store = IdStore([Shard.of([([5, 6, 7], [7, 6, 5]), ([8, 9], [9, 8])] * 40)])
plan = BatchPlan(store.all_lengths + 1, BatchConfig(tokens=64, max_length=8, buckets=1), seed=1)
experiment = load_experiment("quickstart")
sizes, training = experiment.model, experiment.training
sizes.vocab_size, sizes.num_layers, sizes.d_model, sizes.d_ff, sizes.num_heads = 10, 1, 16, 16, 2
sizes.dropout = 0.0
training.schedule, training.learning_rate, training.warmup_steps = "constant", 0.03, 1
model = experiment.compiled_model()
arguments = {"steps_per_epoch": plan.steps, "epochs": 5, "shuffle": False, "verbose": 0}
loss = model.fit(batches(store, plan), **arguments).history["loss"]
assert loss[-1] < 0.6 * loss[0], loss
assert sys.modules["tensorflow"] is None
"""


@pytest.mark.long
def test_keras_trains_on_the_batches_on_jax_without_tensorflow():
    pytest.importorskip("jax")
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, cwd=ROOT, env=environment)
