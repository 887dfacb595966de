"""Metrics in the text format of Prometheus."""

import time
from types import SimpleNamespace

from t2t_keras.serving.metrics import Metrics


def test_requests_batches_and_the_version_are_reported():
    metrics = Metrics()
    metrics.answered("predict", 200, time.perf_counter())
    metrics.answered("predict", 404, time.perf_counter())
    with metrics.computing("score", 7):
        pass
    metrics.waiting.set(3)
    model = SimpleNamespace(engine=SimpleNamespace(kind="litert", dtype="int8"), shapes=None)
    metrics.serves("m", 1, SimpleNamespace(engine=None, shapes=None))
    metrics.serves("m", 2, model)
    metrics.begins("other")
    lines = metrics.text().decode().splitlines()
    for line in (
        't2t_requests_total{code="200",route="predict"} 1.0',
        't2t_request_seconds_count{route="predict"} 2.0',
        't2t_batch_rows_sum{signature="score"} 7.0',
        't2t_batch_seconds_count{signature="score"} 1.0',
        "t2t_waiting_rows 3.0",
        't2t_model_version{model="m"} 2.0',
        't2t_model_version{model="other"} 0.0',
        't2t_engine_info{dtype="int8",engine="litert",model="m",shapes="any"} 1.0',
    ):
        assert line in lines
    assert sum(line.startswith("t2t_engine_info") for line in lines) == 1


def test_each_server_has_its_own_metrics():
    first, second = Metrics(), Metrics()
    first.waiting.set(5)
    assert "t2t_waiting_rows 0.0" in second.text().decode()
