"""The parts of t2t-benchmark gpu: on a GPU with `-m gpu`, on CPUs at a tiny size."""

import contextlib
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.models import reference
from support.models.helpers import disturbed
from support.processes.in_process import ended

from pipelines.atomic_files import read_json
from t2t_keras.reproduction.gpu import parts, repetition, training_speed
from t2t_keras.reproduction.gpu.accelerator import NotPossible, Row, accelerators
from t2t_keras.reproduction.gpu.digits import padded_batch


@pytest.fixture(autouse=True)
def unfused(monkeypatch):
    monkeypatch.setattr(training_speed.MultiHeadAttention, "fused", False)


@pytest.fixture
def gpu():
    if not accelerators():
        pytest.skip("there is no GPU")


def measured(name):
    rows = {}
    with contextlib.suppress(NotPossible):  # for example, there is only one device
        for row in parts.rows_of(name):
            rows[row.name] = row.value
    return rows


def check_digits():
    rows = measured("digits")
    exact = [value for name, value in rows.items() if name.startswith("float32: ")]
    half = [value for name, value in rows.items() if name.startswith("mixed_bfloat16")]
    assert len(exact) == len(half) == 2
    assert max(exact) < 3e-4 < min(half) and max(half) < 0.2


def check_logits(size, dtype, digits):
    """Compares logits with the formulas in NumPy, which share no code with the model."""
    experiment = size.experiment("base")
    inputs, _ = padded_batch(experiment.model.vocab_size, 3, size.length)
    model = disturbed(experiment.new_model(dtype=dtype))
    logits = np.asarray(model.predict_on_batch(inputs))
    weights = {w.path.removeprefix(f"{model.name}/"): np.asarray(w) for w in model.weights}
    given = inputs["source"], inputs["target"]
    expected = reference.forward(weights, experiment.model.resolved(), *given)
    real = inputs["target"] != 0
    np.testing.assert_allclose(logits[real], expected[real], atol=digits)


def check_repetition(name):
    shares = {
        row: value.split(" of ")
        for row, value in measured(name).items()
        if row.endswith("equal to the bit") and "replicas" not in row  # their sums are rounded
    }
    assert shares and all(equal == count for equal, count in shares.values()), shares


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.jax
def test_digits_on_a_gpu():
    check_digits()
    check_logits(parts.Size(), "float32", 1e-4)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.jax
@pytest.mark.parametrize("name", ["repeats", "replicas"])
def test_repetition_on_a_gpu(name):
    check_repetition(name)


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu")
def test_a_killed_training_resumes_to_the_bit_on_a_gpu():
    check_repetition("killed")


@pytest.mark.jax
def test_float32_has_six_digits_and_bfloat16_has_fewer():
    check_digits()


@pytest.mark.long
@pytest.mark.jax
def test_training_repeats_to_the_bit():
    check_repetition("repeats")


@pytest.mark.long
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_replicas_train_like_none(backend):
    # In its own process: two strategies of TensorFlow in one process mix up their exchanges.
    flags = "--xla_force_host_platform_device_count=2"  # of JAX
    environment = os.environ | {"XLA_FLAGS": flags, "KERAS_BACKEND": backend}
    command = [sys.executable, "-m", "t2t_keras.cli", "benchmark", "gpu", "--parts=replicas"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert re.search(r"one replica and none: weights equal to the bit +31 of 31\n", result.stdout)
    if backend == "jax":
        difference = re.search(r"2 replicas and none: largest difference +(\S+)", result.stdout)
        assert float(difference[1]) < 1e-5


def test_float64_on_tensorflow_is_the_reference_in_numpy():
    check_logits(parts.TINY, "float64", 1e-12)


@pytest.mark.long
@pytest.mark.jax
@pytest.mark.parametrize("name", ["base", "searches"])
def test_speed_is_measured(name):
    rows = measured(name)
    speeds = [value for row, value in rows.items() if row.startswith(("step", "greedy", "beam"))]
    assert len(speeds) == {"base": 3, "searches": 8}[name] and min(speeds) > 0


def test_compared_weights_differ_by_their_largest_difference():
    first, second = [np.zeros(2), np.ones(2)], [np.zeros(2), np.array([1, 1.5])]
    rows = list(repetition.compared("x", first, second))
    assert [row.value for row in rows] == ["1 of 2", 0.5]


def test_parts_that_fail_or_take_too_long_keep_their_rows_and_say_why(capfd):
    row = json.dumps(Row("speed", 1234.5, "ms")._asdict())
    programs = {
        "base": f"print('''{row}''', file=open(path, 'w')); raise SystemExit('no memory')",
        "big": f"print('''{row}''', file=open(path, 'w'), flush=True); time.sleep(60)",
        "digits": "never started",
    }

    def command(name, path):
        return ["python3", "-c", f"import time; path = {str(path)!r}; {programs[name]}"]

    results = list(parts.run_parts(list(programs), command, minutes=0.05))
    assert [result["missing"] for result in results] == [
        "no memory",
        *["the 0.05 minutes are over"] * 2,
    ]
    assert [len(result["rows"]) for result in results] == [1, 1, 0]
    text = parts.text_of(results[0])
    assert "1,234 ms" in text and text.endswith("not measured: no memory")


@pytest.mark.long
def test_the_command_says_what_a_cpu_cannot_show(tmp_path):
    report = tmp_path / "gpu.json"
    result = ended("benchmark", "gpu", "--parts=hardware,first_call", f"--results={report}")
    assert result.returncode == 0, result.stderr
    assert "no GPU; " in result.stdout and "not measured: there is no GPU" in result.stdout
    results = read_json(report)
    assert results["hardware"]["rows"][0]["name"] == "backend"
    assert results["first_call"]["missing"] == "there is no GPU"
