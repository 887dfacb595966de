"""Metrics in the text format of Prometheus."""

import time
from types import SimpleNamespace

from prometheus_client import generate_latest

from t2t_keras.serving.metrics import Metrics


def test_requests_batches_and_the_version_are_reported():
    metrics = Metrics()
    metrics.answered("predict", 200, time.perf_counter())
    metrics.answered("predict", 404, time.perf_counter() - 100)
    with metrics.computing("score", 7):
        pass
    metrics.waiting.set(3)
    metrics.version.labels("other").set(0)
    saved_model = SimpleNamespace(kind="tensorflow", dtype="float32")
    metrics.serves("m", 1, saved_model)
    metrics.serves("m", 2, SimpleNamespace(kind="litert", dtype="int8"))
    metrics.serves("n", 1, saved_model)
    lines = generate_latest(metrics.registry).decode().splitlines()
    for line in (
        't2t_requests_total{code="200",route="predict"} 1.0',
        't2t_request_seconds_bucket{le="30.0",route="predict"} 1.0',
        't2t_request_seconds_count{route="predict"} 2.0',
        't2t_batch_seconds_count{signature="score"} 1.0',
        "t2t_waiting_rows 3.0",
        't2t_model_version{model="m"} 2.0',
        't2t_model_version{model="other"} 0.0',
    ):
        assert line in lines
    assert [line for line in lines if line.startswith("t2t_engine_info{")] == [
        't2t_engine_info{dtype="int8",engine="litert",model="m"} 1.0',
        't2t_engine_info{dtype="float32",engine="tensorflow",model="n"} 1.0',
    ]
