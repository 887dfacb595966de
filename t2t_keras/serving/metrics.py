"""A server's metrics, in Prometheus' text format."""

import contextlib
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    def __init__(self):
        self.registry = CollectorRegistry()

        def metric(kind, name, meaning, *labels, **options):
            return kind(f"t2t_{name}", meaning, labels, registry=self.registry, **options)

        def histogram(name, meaning, label, buckets=SECONDS):
            return metric(Histogram, name, meaning, label, buckets=buckets)

        self.requests = metric(Counter, "requests", "Requests answered.", "route", "code")
        self.seconds = histogram("request_seconds", "From arrival to answer.", "route")
        self.batch_rows = histogram("batch_rows", "Rows in a batch.", "signature", ROWS)
        self.batch_seconds = histogram("batch_seconds", "Seconds to compute a batch.", "signature")
        self.waiting = metric(Gauge, "waiting_rows", "Rows in flight: waiting or being computed.")
        self.version = metric(Gauge, "model_version", "Version served; 0: none yet.", "model")
        meaning = "What computes the version that is served, and the type of its weights."
        self.engine = metric(Gauge, "engine_info", meaning, "model", "engine", "dtype")

    def serves(self, name, number, engine):
        """Records the version of a model that is served, and its engine."""
        self.version.labels(name).set(number)
        self.engine.remove_by_labels({"model": name})
        self.engine.labels(name, engine.kind, engine.dtype).set(1)

    @contextlib.contextmanager
    def computing(self, signature, rows):
        """Records the rows of a batch and the time spent in the `with` block."""
        self.batch_rows.labels(signature).observe(rows)
        with self.batch_seconds.labels(signature).time():
            yield

    def answered(self, route, code, started):
        self.requests.labels(route, str(code)).inc()
        self.seconds.labels(route).observe(time.perf_counter() - started)
